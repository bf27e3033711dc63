<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

class EsimTopupAnswer extends Model
{
    public readonly string $orderNo;

    /** The dealer's own key of the order, as sent with the order. */
    public readonly string $transactionId;

    /** NEW delivers eSIMs; TOPUP adds to one. */
    public readonly string $orderType;

    public readonly string $orderStatus;

    /** The amount debited (in 1/10 000 of `currencyCode`) */
    public readonly int $amount;

    /** ISO 4217 */
    public readonly string $currencyCode;

    /** The balance after this debit (in 1/10 000 of `currencyCode`) */
    public readonly int $balanceAfter;

    /**
     * When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers are UTC
     * with milliseconds)
     */
    public readonly string $createTime;

    public readonly string $esimTranNo;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['orderType'])) { $this->orderType = $data['orderType']; }
        if (isset($data['orderStatus'])) { $this->orderStatus = $data['orderStatus']; }
        if (isset($data['amount'])) { $this->amount = $data['amount']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        if (isset($data['balanceAfter'])) { $this->balanceAfter = $data['balanceAfter']; }
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
    }
}

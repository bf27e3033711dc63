<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class OrderListAnswerOrder extends Model
{
    public readonly string $orderNo;

    /** The dealer's own key of the order, as sent with the order. */
    public readonly string $transactionId;

    /** NEW delivers eSIMs; TOPUP adds to one. */
    public readonly string $orderType;

    public readonly string $orderStatus;

    /** The amount debited (in 1/10 000 of `currencyCode`) */
    public readonly int $amount;

    /** The part of it that was refunded (in 1/10 000 of `currencyCode`) */
    public readonly int $refundedAmount;

    /** ISO 4217 */
    public readonly string $currencyCode;

    public readonly ?string $remark;

    /** The eSIM that a TOPUP adds to; null for NEW. */
    public readonly ?string $esimTranNo;

    /** The label of the restricted key at that time; null: the tenant's own key. */
    public readonly ?string $keyLabel;

    /**
     * When the request arrived. The first entry of `statusHistory` is the time of the debit. (RFC 3339; answers are UTC
     * with milliseconds)
     */
    public readonly string $createTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @var list<OrderLine> */
    public readonly array $packageInfoList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['orderType'])) { $this->orderType = $data['orderType']; }
        if (isset($data['orderStatus'])) { $this->orderStatus = $data['orderStatus']; }
        if (isset($data['amount'])) { $this->amount = $data['amount']; }
        if (isset($data['refundedAmount'])) { $this->refundedAmount = $data['refundedAmount']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        $this->remark = $data['remark'] ?? null;
        $this->esimTranNo = $data['esimTranNo'] ?? null;
        $this->keyLabel = $data['keyLabel'] ?? null;
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
        if (isset($data['packageInfoList'])) { $this->packageInfoList = array_map(static fn (array $each) => new OrderLine($each), $data['packageInfoList']); }
    }
}

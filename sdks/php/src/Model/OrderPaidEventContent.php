<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class OrderPaidEventContent extends Model
{
    public readonly string $orderNo;

    /** The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`. */
    public readonly string $transactionId;

    public readonly string $orderType;

    /** The eSIM that a TOPUP adds to; null for NEW. */
    public readonly ?string $esimTranNo;

    public readonly string $orderStatus;

    /** Counts the events of one order. Events can arrive out of order: keep the highest. */
    public readonly int $sequence;

    /** What was debited (in 1/10 000 of `currencyCode`) */
    public readonly int $amount;

    /** ISO 4217 */
    public readonly string $currencyCode;

    /** in 1/10 000 of `currencyCode` */
    public readonly int $balanceAfter;

    /** The number of the debit in `account/statement`. Absent from events that were recorded before it existed. */
    public readonly ?string $entryNo;

    /** @var list<OrderPaidEventContentPackageInfo> */
    public readonly array $packageInfoList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['orderType'])) { $this->orderType = $data['orderType']; }
        $this->esimTranNo = $data['esimTranNo'] ?? null;
        if (isset($data['orderStatus'])) { $this->orderStatus = $data['orderStatus']; }
        if (isset($data['sequence'])) { $this->sequence = $data['sequence']; }
        if (isset($data['amount'])) { $this->amount = $data['amount']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        if (isset($data['balanceAfter'])) { $this->balanceAfter = $data['balanceAfter']; }
        $this->entryNo = $data['entryNo'] ?? null;
        if (isset($data['packageInfoList'])) { $this->packageInfoList = array_map(static fn (array $each) => new OrderPaidEventContentPackageInfo($each), $data['packageInfoList']); }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class DeliveryUpdatedEventContent extends Model
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

    /** in 1/10 000 of `currencyCode` */
    public readonly int $refundedAmount;

    /** @var list<DeliveryUpdatedEventContentProfile> */
    public readonly array $profiles;

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
        if (isset($data['refundedAmount'])) { $this->refundedAmount = $data['refundedAmount']; }
        if (isset($data['profiles'])) { $this->profiles = array_map(static fn (array $each) => new DeliveryUpdatedEventContentProfile($each), $data['profiles']); }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimExpiringEventContent extends Model
{
    public readonly string $orderNo;

    /** The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`. */
    public readonly string $transactionId;

    public readonly string $esimTranNo;

    public readonly string $iccid;

    /** Counts the events of this type of one eSIM. */
    public readonly int $sequence;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $expiredTime;

    /** Hours before `expiredTime`, as set. */
    public readonly int $hours;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        if (isset($data['sequence'])) { $this->sequence = $data['sequence']; }
        if (isset($data['expiredTime'])) { $this->expiredTime = $data['expiredTime']; }
        if (isset($data['hours'])) { $this->hours = $data['hours']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimUsageEventContent extends Model
{
    public readonly string $orderNo;

    /** The dealer's own key of the order. A retry needs a new RT-RequestID and the same `transactionId`. */
    public readonly string $transactionId;

    public readonly string $esimTranNo;

    public readonly string $iccid;

    /** Counts the events of this type of one eSIM. */
    public readonly int $sequence;

    /** Bytes. */
    public readonly int $totalVolume;

    /** Bytes used. */
    public readonly int $orderUsage;

    /** Bytes that are left. */
    public readonly int $remaining;

    /** The percentage that the usage has passed. */
    public readonly int $threshold;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $usageUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        if (isset($data['sequence'])) { $this->sequence = $data['sequence']; }
        if (isset($data['totalVolume'])) { $this->totalVolume = $data['totalVolume']; }
        if (isset($data['orderUsage'])) { $this->orderUsage = $data['orderUsage']; }
        if (isset($data['remaining'])) { $this->remaining = $data['remaining']; }
        if (isset($data['threshold'])) { $this->threshold = $data['threshold']; }
        if (isset($data['usageUpdateTime'])) { $this->usageUpdateTime = $data['usageUpdateTime']; }
    }
}

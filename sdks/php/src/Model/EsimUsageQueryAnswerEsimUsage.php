<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimUsageQueryAnswerEsimUsage extends Model
{
    public readonly string $esimTranNo;

    public readonly string $iccid;

    /** Bytes; null when unlimited. */
    public readonly ?int $totalVolume;

    /** Bytes used; null when the supplier does not report it. */
    public readonly ?int $orderUsage;

    /** Bytes left; null if the volume is unlimited or the usage unknown. */
    public readonly ?int $remaining;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $usageUpdateTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $expiredTime;

    public readonly string $esimStatus;

    public readonly bool $suspended;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        $this->totalVolume = $data['totalVolume'] ?? null;
        $this->orderUsage = $data['orderUsage'] ?? null;
        $this->remaining = $data['remaining'] ?? null;
        $this->usageUpdateTime = $data['usageUpdateTime'] ?? null;
        $this->expiredTime = $data['expiredTime'] ?? null;
        if (isset($data['esimStatus'])) { $this->esimStatus = $data['esimStatus']; }
        if (isset($data['suspended'])) { $this->suspended = $data['suspended']; }
    }
}

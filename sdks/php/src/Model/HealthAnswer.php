<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class HealthAnswer extends Model
{
    /** @var 'UP' */
    public readonly string $status;

    /** TEST: the AppKey is that of a test twin, which spends no money. */
    public readonly string $mode;

    public readonly string $tenantId;

    public readonly string $clientName;

    /** The label of the restricted key at that time; null: the tenant's own key. */
    public readonly ?string $keyLabel;

    /** The limits of the restricted key that signed the call; null: the tenant's own key. */
    public readonly ?HealthAnswerKeyLimits $keyLimits;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['status'])) { $this->status = $data['status']; }
        if (isset($data['mode'])) { $this->mode = $data['mode']; }
        if (isset($data['tenantId'])) { $this->tenantId = $data['tenantId']; }
        if (isset($data['clientName'])) { $this->clientName = $data['clientName']; }
        $this->keyLabel = $data['keyLabel'] ?? null;
        $this->keyLimits = isset($data['keyLimits']) ? new HealthAnswerKeyLimits($data['keyLimits']) : null;
    }
}

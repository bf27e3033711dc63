<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

/** The limits of the restricted key that signed the call; null: the tenant's own key. */
final class HealthAnswerKeyLimits extends Model
{
    /** in 1/10 000 of `currencyCode` */
    public readonly ?int $perOrderMax;

    /** in 1/10 000 of `currencyCode` */
    public readonly ?int $perDayMax;

    /** What its orders of this UTC day have debited, less refunds (in 1/10 000 of `currencyCode`) */
    public readonly int $daySpent;

    /** The end of the day (RFC 3339; answers are UTC with milliseconds) */
    public readonly string $dayResetTime;

    /** in 1/10 000 of `currencyCode` */
    public readonly ?int $totalMax;

    /** What all of its orders have debited, less refunds (in 1/10 000 of `currencyCode`) */
    public readonly int $totalSpent;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $expiresAt;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        $this->perOrderMax = $data['perOrderMax'] ?? null;
        $this->perDayMax = $data['perDayMax'] ?? null;
        if (isset($data['daySpent'])) { $this->daySpent = $data['daySpent']; }
        if (isset($data['dayResetTime'])) { $this->dayResetTime = $data['dayResetTime']; }
        $this->totalMax = $data['totalMax'] ?? null;
        if (isset($data['totalSpent'])) { $this->totalSpent = $data['totalSpent']; }
        $this->expiresAt = $data['expiresAt'] ?? null;
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class PackageOnSaleCancelPolicy extends Model
{
    /** Whether an unused eSIM can be cancelled by `esim/cancel`. */
    public readonly bool $cancellable;

    /** Days from the creation of the eSIM; null: no limit. */
    public readonly ?int $withinDays;

    /** Percent of the price that is not refunded. */
    public readonly int $feePercent;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['cancellable'])) { $this->cancellable = $data['cancellable']; }
        $this->withinDays = $data['withinDays'] ?? null;
        if (isset($data['feePercent'])) { $this->feePercent = $data['feePercent']; }
    }
}

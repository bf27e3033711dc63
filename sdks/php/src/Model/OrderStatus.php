<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class OrderStatus
{
    public const PAID = 'PAID';
    public const ALLOCATING = 'ALLOCATING';
    public const UNDER_REVIEW = 'UNDER_REVIEW';
    public const DELIVERED = 'DELIVERED';
    public const PARTIALLY_DELIVERED = 'PARTIALLY_DELIVERED';
    public const FAILED = 'FAILED';
    public const CANCELLED = 'CANCELLED';
}

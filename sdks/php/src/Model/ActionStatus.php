<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class ActionStatus
{
    public const PENDING = 'PENDING';
    public const DONE = 'DONE';
    public const REFUSED = 'REFUSED';
    public const UNDER_REVIEW = 'UNDER_REVIEW';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class EsimAction
{
    public const CANCEL = 'CANCEL';
    public const SUSPEND = 'SUSPEND';
    public const UNSUSPEND = 'UNSUSPEND';
    public const REVOKE = 'REVOKE';
}

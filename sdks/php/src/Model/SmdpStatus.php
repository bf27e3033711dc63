<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class SmdpStatus
{
    public const RELEASED = 'RELEASED';
    public const DOWNLOAD = 'DOWNLOAD';
    public const INSTALLATION = 'INSTALLATION';
    public const ENABLED = 'ENABLED';
    public const DISABLED = 'DISABLED';
    public const DELETED = 'DELETED';
}

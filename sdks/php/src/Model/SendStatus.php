<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class SendStatus
{
    public const QUEUED = 'QUEUED';
    public const SENT = 'SENT';
    public const FAILED = 'FAILED';
    public const OPENED = 'OPENED';
}

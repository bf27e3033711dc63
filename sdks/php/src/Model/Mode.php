<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class Mode
{
    public const LIVE = 'LIVE';
    public const TEST = 'TEST';
}

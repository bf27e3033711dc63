<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class DataType
{
    public const TOTAL = 'TOTAL';
    public const DAILY = 'DAILY';
    public const UNLIMITED = 'UNLIMITED';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class SpendScope
{
    public const TENANT_DAY = 'TENANT_DAY';
    public const KEY_ORDER = 'KEY_ORDER';
    public const KEY_DAY = 'KEY_DAY';
    public const KEY_TOTAL = 'KEY_TOTAL';
}

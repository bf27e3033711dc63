<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class SmsStatus
{
    public const VALUE_0 = 0;
    public const VALUE_1 = 1;
    public const VALUE_2 = 2;
}

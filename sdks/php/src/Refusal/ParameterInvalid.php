<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000108, HTTP 400. A parameter is malformed, out of range or unknown. Correct the parameters listed in data.details.
 * Unknown members are rejected on purpose, so that a mistyped guard such as "amounts" does not cost money. Integers
 * must lie within ±(2^53-1). An order has 1 to 20 lines of 1 to 30 eSIMs, at most 100 in total, and no package may
 * appear twice.
 */
final class ParameterInvalid extends Refused
{
    public const CODE = '000108';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000107, HTTP 400. A parameter is too long or too short. Correct the parameters listed in data.details. Lengths are
 * counted in Unicode characters. data.details lists each faulty member with its allowed length.
 */
final class ParameterLength extends Refused
{
    public const CODE = '000107';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000106, HTTP 400. A required parameter is null. Give it a value. Optional members may be null, which means absent;
 * required members may not be null. data.details lists each faulty member.
 */
final class ParameterNull extends Refused
{
    public const CODE = '000106';
}

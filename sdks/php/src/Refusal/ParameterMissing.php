<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000105, HTTP 400. A required parameter is missing. Add the parameters listed in data.details. data.details lists
 * each missing member by its path, such as packageInfoList[0].packageCode.
 */
final class ParameterMissing extends Refused
{
    public const CODE = '000105';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000109, HTTP 404. There is no such operation. Check the path: {base_url}/open-api/v1/{operation}. The path does not
 * match any operation. Common causes are a missing or doubled /open-api/v1, or a trailing slash.
 */
final class OperationUnknown extends Refused
{
    public const CODE = '000109';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000104, HTTP 400. The body is not a JSON object. Send one JSON object in UTF-8, or {} if there are no parameters.
 * The gateway rejects an empty body, invalid UTF-8, a byte-order mark, a member that appears twice, nesting deeper
 * than 8 levels, and anything that is not an object. data.details says which of these it found.
 */
final class BodyNotJsonObject extends Refused
{
    public const CODE = '000104';
}

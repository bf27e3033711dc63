<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000103, HTTP 405. Only POST is allowed. Use POST. Every operation is called with POST, even if it only reads. On a
 * redirect from http to https, many clients turn POST into GET: call the https address directly.
 */
final class MethodNotAllowed extends Refused
{
    public const CODE = '000103';
}

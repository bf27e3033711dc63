<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000102, HTTP 400. A header is malformed. Correct the headers listed in data.details. RT-Timestamp must have exactly
 * 13 digits (milliseconds), RT-RequestID must be a 36-character UUID, RT-AccessCode must be the AppKey (8 to 64
 * letters, digits, _ and -), and X-Signature must have 64 hex digits. Send each header only once.
 */
final class HeaderMalformed extends Refused
{
    public const CODE = '000102';
}

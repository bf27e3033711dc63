<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000110, HTTP 415. The body must be plain JSON. Send Content-Type: application/json and no Content-Encoding. The
 * Content-Type is missing or is not application/json, or the body is compressed. Parameters such as charset=utf-8 are
 * allowed.
 */
final class MediaTypeUnsupported extends Refused
{
    public const CODE = '000110';
}

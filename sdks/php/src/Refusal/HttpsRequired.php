<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101008, HTTP 403. HTTPS is required. Call the https address. Only a local gateway accepts plain HTTP. If there is a
 * proxy, the operator must list it as trusted, and the proxy must send X-Forwarded-Proto and X-Forwarded-For.
 */
final class HttpsRequired extends Refused
{
    public const CODE = '101008';
}

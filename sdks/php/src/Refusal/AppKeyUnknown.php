<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101004, HTTP 401. The AppKey is unknown or revoked. Check RT-AccessCode and the base URL. No tenant of this gateway
 * has this AppKey. Test and production gateways use different credentials.
 */
final class AppKeyUnknown extends Refused
{
    public const CODE = '101004';
}

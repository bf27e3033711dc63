<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101007, HTTP 429. Too many requests. Wait for the time in Retry-After and repeat with a new RT-RequestID. The
 * tenant's requests per second, counted over all of the gateway's nodes, exceed its limit (RateLimit-Limit); or too
 * many calls from this address failed to authenticate; or a traveller, or all travellers together, got as many
 * e-mails as a day allows. Spread the calls, or ask the operator for a higher limit.
 */
final class RateLimited extends Refused
{
    public const CODE = '101007';
}

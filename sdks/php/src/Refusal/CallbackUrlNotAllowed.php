<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 400101, HTTP 422. The callback URL is not allowed and the previous setting was kept. Use a public https address
 * without a user name or password. The URL must be https, without a user name or password, and must not resolve to a
 * private, loopback, link-local or metadata address. A local gateway also allows http and such addresses.
 */
final class CallbackUrlNotAllowed extends Refused
{
    public const CODE = '400101';
}

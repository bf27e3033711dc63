<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 400102, HTTP 422. The callback URL did not pass the health check and the previous setting was kept. Make it answer
 * a signed CHECK_HEALTH event with 2xx within 5 seconds. The gateway posts a CHECK_HEALTH event to a URL before the
 * URL is set or enabled. data.details says what the URL returned. A tenant can run one check at a time and ten per
 * minute.
 */
final class CallbackUrlUnhealthy extends Refused
{
    public const CODE = '400102';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000002, HTTP 503. The gateway is temporarily unavailable and nothing was changed. Wait for the time in Retry-After
 * and repeat the request with a new RT-RequestID. The database is unavailable, or the gateway is starting, stopping
 * or overloaded. Nothing was changed. Repeat the call after the number of seconds in the Retry-After header; repeat
 * an order with the same transactionId. After a restore from a backup, an order of the lost time is refused until the
 * operator has found out whether it was sold: keep its transactionId.
 */
final class Unavailable extends Refused
{
    public const CODE = '000002';
}

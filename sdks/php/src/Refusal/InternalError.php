<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000001, HTTP 500. Something went wrong in the gateway and the outcome may be unknown. Repeat the call with a new
 * RT-RequestID; repeat an order with the same transactionId. An unexpected error occurred in the gateway. An order
 * may or may not have been placed; repeating it with the same transactionId is always safe, because it is debited at
 * most once. If the error persists, send data.requestId to the operator.
 */
final class InternalError extends Refused
{
    public const CODE = '000001';
}

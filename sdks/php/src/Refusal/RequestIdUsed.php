<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101006, HTTP 409. This RT-RequestID has already been used: the first request with it was processed or is still
 * being processed. Repeat with a new RT-RequestID and the same transactionId. An RT-RequestID guards against replay
 * and is accepted once. A retry needs a new RT-RequestID and the same `transactionId`, which makes the order
 * idempotent. Make sure that no HTTP library or proxy repeats requests automatically.
 */
final class RequestIdUsed extends Refused
{
    public const CODE = '101006';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000101, HTTP 400. A required header is missing. Send RT-AccessCode, RT-RequestID, RT-Timestamp and X-Signature.
 * data.details lists the missing headers. A common cause is a proxy that drops unknown headers.
 */
final class HeaderMissing extends Refused
{
    public const CODE = '000101';
}

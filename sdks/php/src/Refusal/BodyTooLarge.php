<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 000111, HTTP 413. The body is larger than 256 KiB. Send a smaller body. No valid request is nearly that large.
 * Split orders of more than 100 eSIMs.
 */
final class BodyTooLarge extends Refused
{
    public const CODE = '000111';
}

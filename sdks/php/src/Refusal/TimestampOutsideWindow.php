<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101001, HTTP 401. RT-Timestamp is more than 300 seconds off. Set your clock to data.serverTime and sign again.
 * RT-Timestamp must lie within 300 s of the gateway's clock (data.serverTime). Keep the machine's clock synchronised,
 * send milliseconds, and sign every attempt instead of repeating an old request.
 */
final class TimestampOutsideWindow extends Refused
{
    public const CODE = '101001';

    /** The gateway's clock (RFC 3339; answers are UTC with milliseconds) */
    public function serverTime(): string
    {
        return $this->data['serverTime'];
    }
}

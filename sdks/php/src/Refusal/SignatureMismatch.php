<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101003, HTTP 401. The signature does not match. Sign RT-Timestamp + RT-RequestID + RT-AccessCode + body, byte for
 * byte as sent, with the AppSecret. X-Signature is the hex HMAC-SHA256 of timestamp, request id, AppKey and the raw
 * body, without separators, keyed by the UTF-8 bytes of the AppSecret. Common causes: the body was serialised again
 * after signing, the secret has been reset, or it was base64-decoded. Local and test gateways return the text that
 * they signed as data.stringToSign.
 */
final class SignatureMismatch extends Refused
{
    public const CODE = '101003';

    /** On local and test gateways only. */
    public function stringToSign(): ?string
    {
        return $this->data['stringToSign'] ?? null;
    }
}

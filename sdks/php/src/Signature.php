<?php
declare(strict_types=1);

namespace DealerEsim;

/** The signature of requests. Events carry it, too (Webhook). */
final class Signature
{
    /**
     * The value of X-Signature: 64 lower-case hex digits. The signed text has no separators, such as
     * `17000000000007f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11demo_app_key{}`. The body is exactly the bytes that are sent, and the key is the
     * text of the AppSecret, which is not decoded.
     */
    public static function sign(
        #[\SensitiveParameter] string $appSecret,
        string $timestamp,
        string $requestId,
        string $appKey,
        string $body,
    ): string {
        return hash_hmac('sha256', $timestamp . $requestId . $appKey . $body, $appSecret);
    }
}

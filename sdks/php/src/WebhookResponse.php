<?php
declare(strict_types=1);

namespace DealerEsim;

/** What to answer to a call of the webhook: 204, 401, 405, 413, or 500 for an `$error` of the handler. */
final class WebhookResponse
{
    public function __construct(
        public readonly int $status,
        public readonly string $text = '',
        public readonly ?\Throwable $error = null,
    ) {
    }
}

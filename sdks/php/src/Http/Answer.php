<?php
declare(strict_types=1);

namespace DealerEsim\Http;

final class Answer
{
    /** @param array<string, string> $headers with lower-case names */
    public function __construct(
        public readonly int $status,
        public readonly array $headers,
        public readonly string $body,
    ) {
    }
}

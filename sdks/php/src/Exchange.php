<?php
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Http\Answer;

/** The request and answer of one attempt, for logs. Bodies contain activation codes; the secret is not in it. */
final class Exchange
{
    /**
     * @param int $attempt 1 for the first attempt
     * @param array<string, string> $headers
     * @param ?Answer $answer null if there was no answer
     */
    public function __construct(
        public readonly string $operation,
        public readonly int $attempt,
        public readonly string $url,
        public readonly array $headers,
        public readonly string $body,
        public readonly float $durationS,
        public readonly ?Answer $answer,
    ) {
    }
}

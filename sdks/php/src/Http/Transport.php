<?php
declare(strict_types=1);

namespace DealerEsim\Http;

/** Sends one request. Psr18Transport uses your application's HTTP client. */
interface Transport
{
    /** Far more than a list of 500 rows. The limit keeps a broken proxy from filling the memory. */
    public const ANSWER_SIZE_MAX_BYTES = 32 * 1024 * 1024;

    /**
     * Posts a body within a number of seconds, and follows no redirect.
     *
     * @param array<string, string> $headers
     * @throws \DealerEsim\Exception\TimedOut without a whole answer in time
     * @throws \DealerEsim\Exception\NetworkFault with `outcomeUnknown` false only if the connection was never opened
     */
    public function send(string $url, array $headers, string $body, float $timeoutS): Answer;
}

<?php
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Exception\AnswerUnreadable;
use DealerEsim\Exception\DealerEsimException;
use DealerEsim\Exception\NetworkFault;
use DealerEsim\Exception\NotSent;
use DealerEsim\Exception\TimedOut;
use DealerEsim\Http\Answer;
use DealerEsim\Http\CurlTransport;
use DealerEsim\Http\Transport;
use DealerEsim\Model\EsimQueryAnswer;
use DealerEsim\Refusal\RequestIdUsed;

/** A dealer's client for one gateway: signs, sends, retries where that is safe, and follows pages. */
final class Client extends Operations
{
    /** An order in one of these statuses no longer changes by itself. */
    public const FINAL_ORDER_STATUSES = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'];

    private const FIRST_WAIT_S = 0.5;
    private const WAIT_MAX_S = 60;
    private const FIRST_PAUSE_S = 0.1;
    private const PAUSE_MAX_S = 2.0;
    private const TIMER_PRECISION_S = 0.02;

    /**
     * @param string $baseUrl the address of the gateway, without /open-api/v1
     * @param float $timeoutS the limit for each attempt, including reading the whole answer
     * @param int $retries attempts after the first, for failures that may be temporary
     * @param Transport $transport sends a request: a CurlTransport, or your application's client by Psr18Transport
     * @param ?\Closure(Exchange): mixed $observe called with every attempt, for logs; bodies contain activation codes
     * @param ?\Closure(): float $now seconds since 1970, for machines whose clock is wrong
     */
    public function __construct(
        private string $baseUrl,
        private readonly string $appKey,
        #[\SensitiveParameter] private readonly string $appSecret,
        private readonly float $timeoutS = 30,
        private readonly int $retries = 3,
        private readonly Transport $transport = new CurlTransport(),
        private readonly ?\Closure $observe = null,
        private readonly ?\Closure $now = null,
    ) {
        $this->baseUrl = Options::baseUrl($baseUrl);
        Options::text('appKey', $appKey);
        Options::text('appSecret', $appSecret);
        Options::timeout($timeoutS);
        Options::retries($retries);
    }

    /** A new transactionId. Store it before you call. */
    public static function newTransactionId(): string
    {
        $bytes = random_bytes(16);
        $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
        $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
        return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
    }

    /**
     * Calls any operation by its name, such as `esim/order`, and returns the `data` of its answer.
     *
     * @throws DealerEsimException
     */
    public function call(string $operation, array $request = [], ?float $timeoutS = null, ?int $retries = null): array
    {
        return $this->exchange($operation, $request, $timeoutS, $retries)[0];
    }

    /**
     * Queries an order at growing intervals until its status is final or `$waitS` is over: check `orderStatus`. A `$waitS` of 0 queries
     * once.
     *
     * @param array{orderNo?: string, transactionId?: string} $which
     * @throws TimedOut if no query was answered in that time
     */
    public function waitForOrder(array $which, float $waitS = 60, ?float $timeoutS = null, ?int $retries = null): EsimQueryAnswer
    {
        $end = $waitS > 0 ? self::clock() + $waitS : null;
        $answer = null;
        for ($pauseS = self::FIRST_PAUSE_S; ; $pauseS = min($pauseS * 1.5, self::PAUSE_MAX_S)) {
            try {
                $answer = new EsimQueryAnswer($this->exchange('esim/query', $which, $timeoutS, $retries, $end)[0]);
            } catch (DealerEsimException $error) {
                if ($end === null || self::clock() < $end - self::TIMER_PRECISION_S) {
                    throw $error;
                }
                return $answer ?? throw new TimedOut(
                    "No answer within the wait of $waitS s.",
                    requestId: $error->requestId,
                    previous: $error,
                );
            }
            $isFinal = in_array($answer->orderStatus, self::FINAL_ORDER_STATUSES, true);
            if ($isFinal || $end === null || self::clock() + $pauseS > $end) {
                return $answer;
            }
            self::sleep($pauseS);
        }
    }

    /** Hides the AppSecret from var_dump and print_r. */
    public function __debugInfo(): array
    {
        return ['baseUrl' => $this->baseUrl, 'appKey' => $this->appKey];
    }

    /** Calls an operation that is executed once for each transactionId. A dry run is not executed at all. */
    protected function callOnce(string $operation, array $request, ?float $timeoutS, ?int $retries): array
    {
        [$data, $answer] = $this->exchange($operation, $request, $timeoutS, $retries);
        $isDryRun = ($data['validateOnly'] ?? false) === true;
        return $isDryRun ? $data : [...$data, 'replayed' => ($answer->headers['idempotent-replayed'] ?? '') === 'true'];
    }

    protected function each(string $operation, string $rows, array $request, ?float $timeoutS, ?int $retries): \Generator
    {
        $cursor = null;
        while (true) {
            $filters = $cursor === null ? $request : [...$request, 'cursor' => $cursor];
            $page = $this->call($operation, $filters, $timeoutS, $retries);
            foreach ($page[$rows] as $row) {
                yield $row;
            }
            $next = $page['nextCursor'] ?? null;
            if ($next === null) {
                return;
            }
            if ($next === $cursor) {
                throw new AnswerUnreadable('The gateway returned the same cursor twice, so the list would never end.');
            }
            $cursor = $next;
        }
    }

    /**
     * Attempts a call until it succeeds, cannot succeed, or the attempts or the time until `$end` are used up. Each attempt has a new
     * RequestID, because a RequestID is accepted once. The body, including the transactionId, stays the same, so that nothing is bought
     * twice.
     *
     * @param array<string, mixed> $request
     * @return array{array<string, mixed>, Answer}
     */
    private function exchange(string $operation, array $request, ?float $timeoutS, ?int $retries, ?float $end = null): array
    {
        $limitS = Options::timeout($timeoutS ?? $this->timeoutS);
        $attemptsMax = 1 + Options::retries($retries ?? $this->retries);
        try {
            $flags = JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE | JSON_UNESCAPED_SLASHES;
            $body = $request === [] ? '{}' : json_encode($request, $flags);
        } catch (\JsonException $error) {
            throw new NotSent("The request was not sent: {$error->getMessage()}.", previous: $error);
        }
        // Once an outcome is unknown, only a success resolves it: a later refusal does not rule out the earlier attempt.
        $outcomeUnknown = false;
        for ($attempt = 1; ; $attempt++) {
            if ($end !== null) {
                $limitS = max(0.001, min($limitS, $end - self::clock()));
            }
            try {
                return $this->attempt($operation, $body, $attempt, $limitS);
            } catch (DealerEsimException $error) {
                $outcomeUnknown = $outcomeUnknown || $error->outcomeUnknown;
                $error->outcomeUnknown = $outcomeUnknown;
                $error->attempts = $attempt;
                $transactionId = $request['transactionId'] ?? null;
                $error->transactionId = is_string($transactionId) ? $transactionId : null;
                $waitS = self::waitS($error, $attempt);
                if ($attempt >= $attemptsMax || !self::isRetryable($error) || $waitS > self::WAIT_MAX_S) {
                    throw $error;
                }
                if ($end !== null && self::clock() + $waitS >= $end) {
                    self::sleep($end - self::clock());
                    throw $error;
                }
                self::sleep($waitS);
            }
        }
    }

    /**
     * Signs and sends one request, with a RequestID and a timestamp of its own.
     *
     * @return array{array<string, mixed>, Answer}
     */
    private function attempt(string $operation, string $body, int $attempt, float $timeoutS): array
    {
        $requestId = self::newTransactionId();
        $nowS = $this->now === null ? microtime(true) : ($this->now)();
        $timestamp = (string) (int) ($nowS * 1000);
        $headers = [
            'Content-Type' => 'application/json',
            'RT-AccessCode' => $this->appKey,
            'RT-RequestID' => $requestId,
            'RT-Timestamp' => $timestamp,
            'X-Signature' => Signature::sign($this->appSecret, $timestamp, $requestId, $this->appKey, $body),
        ];
        $url = "$this->baseUrl/open-api/v1/$operation";
        $started = self::clock();
        $answer = null;
        try {
            $answer = $this->transport->send($url, $headers, $body, $timeoutS);
        } catch (DealerEsimException $error) {
            $error->requestId = $requestId;
            throw $error;
        } catch (\Throwable $error) {
            $message = "No answer from $this->baseUrl: {$error->getMessage()}.";
            throw new NetworkFault($message, requestId: $requestId, outcomeUnknown: true, previous: $error);
        } finally {
            $this->notify(new Exchange($operation, $attempt, $url, $headers, $body, self::clock() - $started, $answer));
        }
        return [AnswerReader::read($answer, $requestId, $nowS + self::clock() - $started), $answer];
    }

    /** Calls `$observe`, whose errors do not affect the call. */
    private function notify(Exchange $exchange): void
    {
        try {
            if ($this->observe !== null) {
                ($this->observe)($exchange);
            }
        } catch (\Throwable $error) {
            error_log("observe failed: $error");
        }
    }

    /**
     * True for failures after which another attempt may succeed; every operation can be repeated safely.
     *
     * - no answer, or a 2xx that cannot be read: retry
     * - 5xx, including a proxy's: retry
     * - 429: retry after Retry-After
     * - 101006, RequestID used: retry, because a proxy or library repeated the request
     * - other refusals: no retry, because the same request would be refused again
     */
    private static function isRetryable(DealerEsimException $error): bool
    {
        if ($error instanceof AnswerUnreadable && $error->outcomeUnknown) {
            return true;
        }
        if ($error->httpStatus === null) {
            return $error instanceof NetworkFault || $error instanceof TimedOut;
        }
        return $error->httpStatus >= 500 || $error->httpStatus === 429 || $error instanceof RequestIdUsed;
    }

    /** Doubled each time, half of it random, and never shorter than Retry-After. */
    private static function waitS(DealerEsimException $error, int $attempt): float
    {
        $backoffS = min(self::FIRST_WAIT_S * 2 ** min($attempt - 1, 10), self::WAIT_MAX_S);
        return max($backoffS * (0.5 + mt_rand() / mt_getrandmax() / 2), (float) ($error->retryAfterS ?? 0));
    }

    /** Seconds that only ever increase, whatever happens to the machine's clock. */
    private static function clock(): float
    {
        return hrtime(true) / 1e9;
    }

    private static function sleep(float $seconds): void
    {
        if ($seconds > 0) {
            usleep((int) ceil($seconds * 1e6));
        }
    }
}

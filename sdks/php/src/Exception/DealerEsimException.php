<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** What went wrong, in words that say what to do next. Programs use the class or `$errorCode`. */
abstract class DealerEsimException extends \RuntimeException
{
    /** A word for the errors without a code of the gateway. */
    public const CODE = '';

    /** Six digits from the gateway, or a word such as TIMED_OUT where there was no answer. */
    public readonly string $errorCode;

    /** The transactionId of the call, if it has one: repeat it with this one. */
    public ?string $transactionId = null;

    public int $attempts = 1;

    /**
     * @param list<array{field: string, reason: string}> $details which member or header is at fault, and what to do
     * @param array<string, mixed> $data the `data` of the answer, with the members that belong to the code
     * @param ?string $requestId the RT-RequestID of the last attempt: give it to the operator when you ask about a failure
     * @param ?int $httpStatus null if there was no answer
     * @param ?int $retryAfterS the wait that the gateway asked for
     * @param bool $outcomeUnknown true if an attempt may have been executed: repeat it with the same transactionId to find out
     */
    final public function __construct(
        string $message,
        ?string $errorCode = null,
        public readonly array $details = [],
        public readonly array $data = [],
        public ?string $requestId = null,
        public readonly ?int $httpStatus = null,
        public readonly ?int $retryAfterS = null,
        public bool $outcomeUnknown = false,
        ?\Throwable $previous = null,
    ) {
        parent::__construct($message, 0, $previous);
        $this->errorCode = $errorCode ?? static::CODE;
    }
}

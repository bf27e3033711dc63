<?php
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Exception\AnswerUnreadable;
use DealerEsim\Exception\Refused;
use DealerEsim\Http\Answer;
use DealerEsim\Refusal\Refusals;
use DealerEsim\Refusal\RequestIdUsed;
use DealerEsim\Refusal\Unavailable;

/**
 * Reads the envelope of an answer.
 *
 * @internal
 */
final class AnswerReader
{
    private const RETRY_AFTER_MAX_S = 999_999_999;

    /**
     * Returns the `data` of a success; throws what the answer means otherwise.
     *
     * @return array<string, mixed>
     */
    public static function read(Answer $answer, string $requestId, float $receivedS): array
    {
        $status = $answer->status;
        $retryAfterS = self::retryAfterS($answer, $receivedS);
        $envelope = json_decode($answer->body, true);
        $code = $envelope['code'] ?? null;
        $message = $envelope['message'] ?? null;
        $data = $envelope['data'] ?? null;
        if (!is_array($envelope) || !is_string($code) || !is_string($message) || !is_array($data)) {
            throw new AnswerUnreadable(
                self::unreadable($answer),
                requestId: $requestId,
                httpStatus: $status,
                retryAfterS: $retryAfterS,
                outcomeUnknown: $status >= 500 || ($status >= 200 && $status < 300),
            );
        }
        if ($code === '000000') {
            return $data;
        }
        $class = Refusals::BY_CODE[$code] ?? Refused::class;
        throw new $class(
            $message,
            errorCode: $code,
            details: is_array($data['details'] ?? null) ? $data['details'] : [],
            data: $data,
            requestId: $requestId,
            httpStatus: $status,
            retryAfterS: $retryAfterS,
            // Unavailable: nothing happened. RequestIdUsed: this request arrived before, and was or is being processed.
            outcomeUnknown: ($status >= 500 && $code !== Unavailable::CODE) || $code === RequestIdUsed::CODE,
        );
    }

    private static function unreadable(Answer $answer): string
    {
        $location = $answer->headers['location'] ?? null;
        if ($location !== null) {
            return "HTTP $answer->status redirects to $location. Use that address as the base URL.";
        }
        return "HTTP $answer->status with a body that is not an answer of the Dealer eSIM Open API. "
            . 'Check that the base URL is that of a gateway, without /open-api/v1.';
    }

    /** Retry-After is a number of seconds or a date. */
    private static function retryAfterS(Answer $answer, float $receivedS): ?int
    {
        $text = trim($answer->headers['retry-after'] ?? '');
        if (preg_match('/^[0-9]+$/D', $text) === 1) {
            return (int) min((float) $text, self::RETRY_AFTER_MAX_S);
        }
        $dateS = $text === '' ? false : strtotime($text);
        return $dateS === false ? null : max(0, (int) ceil($dateS - $receivedS));
    }
}

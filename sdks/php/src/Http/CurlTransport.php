<?php
declare(strict_types=1);

namespace DealerEsim\Http;

use DealerEsim\Exception\AnswerUnreadable;
use DealerEsim\Exception\NetworkFault;
use DealerEsim\Exception\TimedOut;

/** Opens a connection for each request, so that no request is lost on one that the gateway has just closed. */
final class CurlTransport implements Transport
{
    /** The connection was never opened, so nothing of the request was sent. */
    private const NOT_CONNECTED = [
        CURLE_COULDNT_RESOLVE_PROXY,
        CURLE_COULDNT_RESOLVE_HOST,
        CURLE_COULDNT_CONNECT,
        CURLE_SSL_PEER_CERTIFICATE,
        CURLE_SSL_CACERT,
    ];

    /** @param array<int, mixed> $options of curl, such as CURLOPT_PROXY or CURLOPT_CAINFO */
    public function __construct(private readonly array $options = [])
    {
    }

    public function send(string $url, array $headers, string $body, float $timeoutS): Answer
    {
        $received = [];
        $content = '';
        $curl = curl_init($url);
        curl_setopt_array($curl, $this->options + [
            CURLOPT_POST => true,
            CURLOPT_POSTFIELDS => $body,
            // Without Expect, curl sends the body immediately.
            CURLOPT_HTTPHEADER => [...self::lines($headers), 'Expect:'],
            CURLOPT_TIMEOUT_MS => max(1, (int) ceil($timeoutS * 1000)),
            CURLOPT_NOSIGNAL => true,
            CURLOPT_FOLLOWLOCATION => false,
            CURLOPT_PROTOCOLS => CURLPROTO_HTTP | CURLPROTO_HTTPS,
            CURLOPT_HEADERFUNCTION => static function ($_, string $line) use (&$received): int {
                [$name, $value] = explode(':', $line, 2) + [1 => ''];
                $received[strtolower(trim($name))] = trim($value);
                return strlen($line);
            },
            CURLOPT_WRITEFUNCTION => static function ($_, string $part) use (&$content): int {
                $content .= $part;
                return strlen($content) > self::ANSWER_SIZE_MAX_BYTES ? 0 : strlen($part);
            },
        ]);
        $isDone = curl_exec($curl);
        $fault = curl_errno($curl);
        $reason = curl_error($curl);
        $status = (int) curl_getinfo($curl, CURLINFO_RESPONSE_CODE);
        curl_close($curl);
        if ($isDone !== false) {
            return new Answer($status, $received, $content);
        }
        $origin = self::origin($url);
        if ($fault === CURLE_OPERATION_TIMEDOUT) {
            throw new TimedOut("No answer from $origin within $timeoutS s.", outcomeUnknown: true);
        }
        if (strlen($content) > self::ANSWER_SIZE_MAX_BYTES) {
            $message = "The answer from $origin is larger than " . self::ANSWER_SIZE_MAX_BYTES . ' bytes.';
            throw new AnswerUnreadable($message, httpStatus: $status, outcomeUnknown: true);
        }
        throw new NetworkFault(
            "Cannot reach $origin: $reason. Check the base URL and that the gateway is running.",
            outcomeUnknown: !in_array($fault, self::NOT_CONNECTED, true),
        );
    }

    private static function origin(string $url): string
    {
        return strstr($url, '/open-api/v1', true) ?: $url;
    }

    /**
     * @param array<string, string> $headers
     * @return list<string>
     */
    private static function lines(array $headers): array
    {
        return array_map(static fn (string $name) => "$name: $headers[$name]", array_keys($headers));
    }
}

<?php
// Required by the other samples: signed calls with retries.
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
declare(strict_types=1);

/** A version 4 UUID. Each attempt uses a new one, because a RequestID is accepted once. */
function newRequestId(): string
{
    $bytes = random_bytes(16);
    $bytes[6] = chr(ord($bytes[6]) & 0x0f | 0x40);
    $bytes[8] = chr(ord($bytes[8]) & 0x3f | 0x80);
    return vsprintf('%s%s-%s-%s-%s-%s%s%s', str_split(bin2hex($bytes), 4));
}

/** Sends one signed request; returns the HTTP status (0 without an answer), the body and Retry-After in seconds. */
function attempt(string $operation, string $body): array
{
    $appKey = getenv('DEALER_ESIM_APP_KEY');
    $timestamp = (string) (int) (microtime(true) * 1000);
    $requestId = newRequestId();
    $signature = hash_hmac('sha256', $timestamp . $requestId . $appKey . $body, getenv('DEALER_ESIM_APP_SECRET'));
    $context = stream_context_create(['http' => [
        'method' => 'POST',
        'header' => [
            'Content-Type: application/json',
            "RT-AccessCode: $appKey",
            "RT-RequestID: $requestId",
            "RT-Timestamp: $timestamp",
            "X-Signature: $signature",
        ],
        'content' => $body,
        'ignore_errors' => true,
        'follow_location' => 0,
        'timeout' => 30,
    ]]);
    $answer = @file_get_contents(getenv('DEALER_ESIM_BASE_URL') . "/open-api/v1/$operation", false, $context);
    $status = preg_match('/^HTTP\/\S+ (\d+)/', $http_response_header[0] ?? '', $match) ? (int) $match[1] : 0;
    $retryAfter = preg_match('/^Retry-After: *(\d+)\s*$/mi', implode("\n", $http_response_header ?? []), $match) ? (int) $match[1] : 0;
    return [$answer === false ? 0 : $status, (string) $answer, $retryAfter];
}

/** Empty if the body is not an answer of a gateway, such as a proxy's page. */
function codeOf(string $answer): string
{
    $envelope = json_decode($answer, true);
    return is_array($envelope) && is_string($envelope['code'] ?? null) ? $envelope['code'] : '';
}

/**
 * Retries where that is safe; returns the code and the answer. The body, including the transactionId, is the same for all
 * attempts, so nothing happens twice.
 */
function call(string $operation, array $request): array
{
    // Encoded once: the bytes that are signed are the bytes that are sent.
    $body = json_encode($request);
    for ($number = 1; $number <= 4; $number++) {
        [$status, $answer, $retryAfter] = attempt($operation, $body);
        $code = codeOf($answer);
        // 101006: a proxy or library repeated the request.
        $again = $status === 0 || $status === 429 || $status >= 500 || $code === '101006';
        if (!$again || $number === 4) {
            break;
        }
        sleep(max($number, $retryAfter));
    }
    if ($code === '') {
        fwrite(STDERR, "HTTP $status: this is not an answer of a gateway. Repeat with the same transactionId.\n");
        exit(1);
    }
    return [$code, $answer];
}

<?php
// Prints X-Signature. Usage: php sign.php TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
declare(strict_types=1);

if ($argc !== 6) {
    fwrite(STDERR, "Usage: php sign.php TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY\n");
    exit(2);
}
[, $timestamp, $requestId, $appKey, $appSecret, $body] = $argv;
echo hash_hmac('sha256', $timestamp . $requestId . $appKey . $body, $appSecret), "\n";

<?php
// Verifies an event. Reads the body from standard input, byte for byte as received.
// Usage: php verify-event.php WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
declare(strict_types=1);

function verify(string $appSecret, string $id, string $timestamp, string $signatures, string $body): bool
{
    if (abs(time() - (int) $timestamp) > 300) {
        return false;
    }
    $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $appSecret, true));
    // In a grace period there are two signatures; one that matches is enough.
    foreach (explode(' ', $signatures) as $given) {
        if (hash_equals($expected, $given)) {
            return true;
        }
    }
    return false;
}

if ($argc !== 4) {
    fwrite(STDERR, "Usage: php verify-event.php WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body\n");
    exit(2);
}
[, $id, $timestamp, $signatures] = $argv;
$genuine = verify(getenv('DEALER_ESIM_APP_SECRET'), $id, $timestamp, $signatures, stream_get_contents(STDIN));
echo $genuine ? "genuine\n" : "not genuine\n";
exit($genuine ? 0 : 1);

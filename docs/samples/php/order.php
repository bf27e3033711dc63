<?php
// Buys one eSIM and prints the answer. Usage: php order.php PACKAGE_CODE TRANSACTION_ID
// Needs call.php next to it, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
declare(strict_types=1);

require __DIR__ . '/call.php';

if ($argc !== 3) {
    fwrite(STDERR, "Usage: php order.php PACKAGE_CODE TRANSACTION_ID\n");
    exit(2);
}
[, $packageCode, $transactionId] = $argv;
[$code, $answer] = call('esim/order', [
    'transactionId' => $transactionId,
    'packageInfoList' => [['packageCode' => $packageCode, 'count' => 1]],
]);
echo $answer, "\n";
exit($code === '000000' ? 0 : 1);

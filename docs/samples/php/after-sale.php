<?php
// Tops up or cancels an eSIM, waits for the result and prints it. An eSIM is named by its esimTranNo.
// Usage: php after-sale.php topup ESIM PACKAGE_CODE TRANSACTION_ID
//        php after-sale.php cancel ESIM TRANSACTION_ID
// Needs call.php next to it, and DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
declare(strict_types=1);

require __DIR__ . '/call.php';

$command = $argv[1] ?? '';
if ($command === 'topup' && $argc === 5) {
    [, , $esim, $packageCode, $transactionId] = $argv;
    $request = ['transactionId' => $transactionId, 'esimTranNo' => $esim, 'packageCode' => $packageCode];
    [$query, $member, $wanted] = ['esim/query', 'orderStatus', 'DELIVERED'];
} elseif ($command === 'cancel' && $argc === 4) {
    [, , $esim, $transactionId] = $argv;
    // The action is repeated in the body, because the signature does not cover the path.
    $request = ['transactionId' => $transactionId, 'action' => 'CANCEL', 'esimTranNo' => $esim];
    [$query, $member, $wanted] = ['esim/action/query', 'actionStatus', 'DONE'];
} else {
    fwrite(STDERR, "Usage: php after-sale.php topup ESIM PACKAGE_CODE TRANSACTION_ID\n");
    fwrite(STDERR, "       php after-sale.php cancel ESIM TRANSACTION_ID\n");
    exit(2);
}

// Accepted is not done: the supplier is asked after the answer. A real shop waits for the event instead.
[$code, $answer] = call("esim/$command", $request);
for ($number = 1; ; $number++) {
    $status = json_decode($answer, true)['data'][$member] ?? '';
    if ($number > 30 || !in_array($status, ['PAID', 'ALLOCATING', 'PENDING'], true)) {
        break;
    }
    sleep(1);
    [$code, $answer] = call($query, ['transactionId' => $transactionId]);
}
echo $answer, "\n";
exit($code === '000000' && $status === $wanted ? 0 : 1);

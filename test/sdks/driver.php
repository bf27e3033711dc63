<?php
// Runs the PHP SDK for test/sdks/conformance.deployment.test.ts: a command on each line of the input, an answer on each.
declare(strict_types=1);

use DealerEsim\Client;
use DealerEsim\Exception\DealerEsimException;
use DealerEsim\Model;
use DealerEsim\Money;
use DealerEsim\Signature;
use DealerEsim\Webhook;

ini_set('error_log', '/dev/null');
// A warning is a fault.
set_error_handler(static fn (int $_, string $message) => throw new ErrorException($message));
require __DIR__ . '/sdk-source.php';

function clientOf(array $client): Client
{
    ['baseUrl' => $baseUrl, 'appKey' => $appKey, 'appSecret' => $appSecret] = $client;
    $clockS = ($client['clockMs'] ?? 0) / 1000;
    return new Client(
        $baseUrl,
        $appKey,
        $appSecret,
        timeoutS: ($client['timeoutMs'] ?? 30_000) / 1000,
        retries: $client['retries'] ?? 3,
        now: static fn () => microtime(true) + $clockS,
    );
}

/** PHP does not distinguish an empty object from an empty list. */
function describe(DealerEsimException $error): array
{
    return [
        'code' => $error->errorCode,
        'message' => $error->getMessage(),
        'kind' => (new ReflectionClass($error))->getShortName(),
        'details' => $error->details,
        'data' => $error->data === [] ? new stdClass() : $error->data,
        'requestId' => $error->requestId,
        'httpStatus' => $error->httpStatus,
        'transactionId' => $error->transactionId,
        'retryAfterS' => $error->retryAfterS,
        'outcomeUnknown' => $error->outcomeUnknown,
        'attempts' => $error->attempts,
    ];
}

/** The properties of a model, so that their types are tested, and those of the models in it. */
function plain(mixed $value): mixed
{
    if (is_array($value)) {
        return array_map(plain(...), $value);
    }
    if (!$value instanceof Model) {
        return $value;
    }
    $members = get_object_vars($value);
    $sent = $members['members'];
    unset($members['members']);
    return array_map(plain(...), $members + $sent);
}

/** An event as it was sent. */
function sent(Model $event): array
{
    $members = $event->members;
    return $members['content'] === [] ? [...$members, 'content' => new stdClass()] : $members;
}

$commands = [
    'call' => static fn (array $client, string $method, array $args) => plain(clientOf($client)->$method(...$args)),
    'operation' => static fn (array $client, string $operation, array $request) => clientOf($client)->call($operation, $request),
    'each' => static fn (array $client, string $method, array $args) =>
        array_map(plain(...), iterator_to_array(clientOf($client)->$method(...$args), false)),
    'wait' => static fn (array $client, array $which, float $waitMs) =>
        plain(clientOf($client)->waitForOrder($which, $waitMs / 1000)),
    'sign' => static fn (string $timestamp, string $requestId, string $appKey, string $appSecret, string $body) =>
        Signature::sign($appSecret, $timestamp, $requestId, $appKey, $body),
    'verify' => static fn (array $secrets, array $headers, string $body, float $nowMs) =>
        sent(Webhook::verifyEvent($secrets, $headers, $body, $nowMs / 1000)),
    'receive' => static function (string $secret, string $method, array $headers, string $body, bool $failing): array {
        $events = [];
        $onEvent = static function (Model $event) use (&$events, $failing): void {
            $events[] = sent($event);
            if ($failing) {
                throw new RuntimeException('the disk is full');
            }
        };
        $answer = Webhook::receive($secret, $method, $headers, $body, $onEvent);
        return ['status' => $answer->status, 'events' => $events];
    },
    'format' => static fn (int $units) => Money::format($units),
    'parse' => static fn (string $text) => Money::parse($text),
];

while (($line = fgets(STDIN)) !== false) {
    ['do' => $name, 'with' => $parameters] = json_decode($line, true);
    try {
        $answer = ['ok' => $commands[$name](...$parameters)];
    } catch (DealerEsimException $error) {
        $answer = ['error' => describe($error)];
    } catch (InvalidArgumentException $error) {
        $answer = ['invalid' => $error->getMessage()];
    }
    echo json_encode($answer, JSON_THROW_ON_ERROR | JSON_UNESCAPED_UNICODE), "\n";
}

<?php
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Exception\EventRefused;

/** Verifies the events that the gateway posts to your callback URL. */
final class Webhook
{
    private const AGE_MAX_S = 300;
    private const EVENT_SIZE_MAX_BYTES = 1024 * 1024;
    private const SIGNATURES_MAX = 8;
    private const MISMATCH = 'It is signed with another secret, or the body was changed after it arrived. '
        . 'Verify the raw bytes, with the AppSecret as shown on the console.';
    private const EXPIRED = 'Sent more than ' . self::AGE_MAX_S . " s before or after this machine's time. "
        . 'Check its clock; old events are not accepted.';

    /** The forms of the headers of the request scheme. */
    private const REQUEST_HEADERS = [
        'RT-AccessCode' => '/^[A-Za-z0-9_-]{8,64}$/D',
        'RT-RequestID' => '/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/iD',
        'RT-Timestamp' => '/^[0-9]{13}$/D',
        'X-Signature' => '/^[0-9a-f]{64}$/iD',
    ];

    /**
     * Returns the event if it is genuine and at most five minutes old.
     *
     * `$body` is the raw body of the request: one that was parsed and serialised again does not verify. An event is signed twice, and
     * one valid signature is enough. Events repeat and overtake each other: ignore a `notifyId` that you have seen, and keep the
     * highest `sequence` of each order.
     *
     * @param string|array<?string> $appSecret the AppSecret, or the new and the old one in the grace period of a reset
     * @param array<string, string|list<string>> $headers as getallheaders(), PSR-7 or Symfony have them
     * @param ?float $nowS seconds since 1970
     * @throws EventRefused which says which check failed
     */
    public static function verifyEvent(
        #[\SensitiveParameter] string|array $appSecret,
        array $headers,
        string $body,
        ?float $nowS = null,
    ): Event {
        $secrets = Options::secrets($appSecret);
        $nowS ??= microtime(true);
        $given = [];
        foreach ($headers as $name => $value) {
            $given[strtolower((string) $name)] = implode(', ', (array) $value);
        }
        $faults = [];
        foreach ([self::standardWebhookFault(...), self::requestSchemeFault(...)] as $check) {
            $fault = $check($secrets, $given, $body, $nowS);
            if ($fault === null) {
                return self::parse($body);
            }
            $faults[] = $fault;
        }
        throw self::refused($faults);
    }

    /**
     * Verifies one call of the webhook and passes its event on. CHECK_HEALTH is only answered. The gateway sends the event again unless
     * `$onEvent` returns within ten seconds: store it there and work later.
     *
     * @param string|array<?string> $appSecret
     * @param array<string, string|list<string>> $headers
     * @param callable(Event): mixed $onEvent
     */
    public static function receive(
        #[\SensitiveParameter] string|array $appSecret,
        string $method,
        array $headers,
        string $body,
        callable $onEvent,
    ): WebhookResponse {
        if ($method !== 'POST') {
            return new WebhookResponse(405, 'Send events with POST.');
        }
        if (strlen($body) > self::EVENT_SIZE_MAX_BYTES) {
            return new WebhookResponse(413, 'The body is larger than any event.');
        }
        try {
            $event = self::verifyEvent($appSecret, $headers, $body);
            if ($event->notifyType !== 'CHECK_HEALTH') {
                $onEvent($event);
            }
            return new WebhookResponse(204);
        } catch (EventRefused $error) {
            return new WebhookResponse(401, $error->getMessage());
        } catch (\Throwable $error) {
            error_log("The event could not be handled: $error");
            return new WebhookResponse(500, 'The event could not be handled. Send it again.', $error);
        }
    }

    /**
     * @param list<string> $secrets
     * @param array<string, string> $headers
     * @return ?array{field: string, reason: string} what is wrong
     */
    private static function standardWebhookFault(array $secrets, array $headers, string $body, float $nowS): ?array
    {
        $id = $headers['webhook-id'] ?? null;
        $timestamp = $headers['webhook-timestamp'] ?? null;
        $signature = $headers['webhook-signature'] ?? null;
        $fault = static fn (string $reason) => ['field' => 'webhook-signature', 'reason' => $reason];
        if ($id === null || $timestamp === null || $signature === null) {
            return $fault('Missing: every event carries webhook-id, webhook-timestamp, webhook-signature.');
        }
        $parts = array_slice(explode(' ', $signature), 0, self::SIGNATURES_MAX);
        $signatures = array_filter($parts, static fn (string $part) => str_starts_with($part, 'v1,'));
        $isWellFormed = preg_match('/^[A-Za-z0-9_-]{1,128}$/D', $id) === 1 && preg_match('/^[1-9][0-9]{0,11}$/D', $timestamp) === 1;
        if (!$isWellFormed || $signatures === []) {
            return $fault('Malformed: these are not valid Standard Webhooks headers.');
        }
        if (abs($nowS - (int) $timestamp) > self::AGE_MAX_S) {
            return $fault(self::EXPIRED);
        }
        foreach ($secrets as $secret) {
            $expected = 'v1,' . base64_encode(hash_hmac('sha256', "$id.$timestamp.$body", $secret, true));
            foreach ($signatures as $each) {
                if (hash_equals($expected, $each)) {
                    return null;
                }
            }
        }
        return $fault(self::MISMATCH);
    }

    /**
     * @param list<string> $secrets
     * @param array<string, string> $headers
     * @return ?array{field: string, reason: string} what is wrong
     */
    private static function requestSchemeFault(array $secrets, array $headers, string $body, float $nowS): ?array
    {
        $parts = [];
        foreach (self::REQUEST_HEADERS as $name => $form) {
            $value = $headers[strtolower($name)] ?? null;
            if ($value === null || preg_match($form, $value) !== 1) {
                return ['field' => $name, 'reason' => $value === null ? 'Missing.' : 'Malformed.'];
            }
            $parts[] = $value;
        }
        [$appKey, $requestId, $timestamp, $signature] = $parts;
        if (abs($nowS * 1000 - (int) $timestamp) > self::AGE_MAX_S * 1000) {
            return ['field' => 'RT-Timestamp', 'reason' => self::EXPIRED];
        }
        foreach ($secrets as $secret) {
            if (hash_equals(Signature::sign($secret, $timestamp, $requestId, $appKey, $body), strtolower($signature))) {
                return null;
            }
        }
        return ['field' => 'X-Signature', 'reason' => self::MISMATCH];
    }

    private static function parse(string $body): Event
    {
        $value = json_decode($body, true);
        $isEvent = is_array($value) && is_string($value['notifyId'] ?? null) && is_string($value['notifyType'] ?? null)
            && is_array($value['content'] ?? null);
        if (!$isEvent) {
            throw self::refused([['field' => 'body', 'reason' => 'It is signed, but it is not an event.']]);
        }
        return Event::from($value);
    }

    /** @param list<array{field: string, reason: string}> $details */
    private static function refused(array $details): EventRefused
    {
        $faults = array_map(static fn (array $each) => "{$each['field']}: {$each['reason']}", $details);
        return new EventRefused('Not a genuine event. ' . implode(' ', $faults), details: $details);
    }
}

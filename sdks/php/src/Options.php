<?php
declare(strict_types=1);

namespace DealerEsim;

/**
 * Checks what a program passes. An InvalidArgumentException says what to do, before anything is sent.
 *
 * @internal
 */
final class Options
{
    public static function baseUrl(string $text): string
    {
        $parts = parse_url($text);
        $scheme = strtolower($parts['scheme'] ?? '');
        if (!in_array($scheme, ['http', 'https'], true) || !isset($parts['host']) || isset($parts['query']) || isset($parts['fragment'])) {
            throw new \InvalidArgumentException("baseUrl must be an address such as https://esim.example.com, not \"$text\"");
        }
        if (isset($parts['user']) || isset($parts['pass'])) {
            throw new \InvalidArgumentException('baseUrl must not carry a user name or password');
        }
        $base = rtrim($text, '/');
        if (str_ends_with($base, '/open-api/v1')) {
            throw new \InvalidArgumentException('baseUrl must not end with /open-api/v1: remove it');
        }
        return $base;
    }

    public static function text(string $name, #[\SensitiveParameter] string $value): string
    {
        if ($value === '') {
            throw new \InvalidArgumentException("$name is missing");
        }
        if ($value !== trim($value)) {
            throw new \InvalidArgumentException("$name begins or ends with a space or a line break: remove it");
        }
        return $value;
    }

    public static function timeout(float $value): float
    {
        if (!($value >= 0.001 && $value <= 2_147_483)) {
            throw new \InvalidArgumentException("timeoutS must be a number of seconds from 0.001 to 2 147 483, not $value");
        }
        return $value;
    }

    public static function retries(int $value): int
    {
        if ($value < 0) {
            throw new \InvalidArgumentException("retries must be a whole number from 0, not $value");
        }
        return $value;
    }

    /**
     * The secrets that are set, at least one. An empty one would be a key that anybody can guess.
     *
     * @param string|array<?string> $given
     * @return list<string>
     */
    public static function secrets(#[\SensitiveParameter] string|array $given): array
    {
        $secrets = array_values(array_filter((array) $given, static fn (?string $each) => $each !== null && $each !== ''));
        if ($secrets === []) {
            throw new \InvalidArgumentException('appSecret is missing');
        }
        return array_map(static fn (string $each) => self::text('appSecret', $each), $secrets);
    }
}

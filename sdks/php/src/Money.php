<?php
declare(strict_types=1);

namespace DealerEsim;

/** Money is an integer in 1/10 000 of the currency, as on the wire: 45000 is 4.50. */
final class Money
{
    private const UNITS = 10_000;
    private const MAX = 2 ** 53 - 1;

    /** `45000` is `'4.50'`: at least two decimal places, and up to four where needed. */
    public static function format(int $units): string
    {
        $absolute = abs($units);
        $places = preg_replace('/0{1,2}$/', '', sprintf('%04d', $absolute % self::UNITS));
        return ($units < 0 ? '-' : '') . intdiv($absolute, self::UNITS) . ".$places";
    }

    /**
     * `'4.50'` is `45000`. Accepts only digits with up to four decimal places after a dot.
     *
     * @throws \InvalidArgumentException
     */
    public static function parse(string $text): int
    {
        if (preg_match('/^(-?)([0-9]{1,15})(?:\.([0-9]{1,4}))?$/D', $text, $parts) !== 1) {
            $shown = substr($text, 0, 40);
            throw new \InvalidArgumentException("\"$shown\" is not an amount: use the form 1250.00, without thousands separators");
        }
        $units = (int) $parts[2] * self::UNITS + (int) str_pad($parts[3] ?? '', 4, '0');
        if ($units > self::MAX) {
            throw new \InvalidArgumentException("\"$text\" is too large: the maximum is " . self::format(self::MAX));
        }
        return $parts[1] === '-' ? -$units : $units;
    }
}

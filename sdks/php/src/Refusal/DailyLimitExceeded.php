<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200014, HTTP 422. A spend limit does not cover the order and nothing was bought. Order less, ask for a higher
 * limit, or wait until data.resetTime: data.scope names the limit. data.scope is TENANT_DAY for the daily limit of
 * the account, which the operator sets, and KEY_ORDER, KEY_DAY or KEY_TOTAL for a limit of the restricted key that
 * signed the call, which the administrators of the account set. data.limit is the limit, data.spent what counts
 * towards it so far.
 */
final class DailyLimitExceeded extends Refused
{
    public const CODE = '200014';

    public function scope(): string
    {
        return $this->data['scope'];
    }

    /** in 1/10 000 of `currencyCode` */
    public function limit(): int
    {
        return $this->data['limit'];
    }

    /** What was spent within the limit; 0 for KEY_ORDER (in 1/10 000 of `currencyCode`) */
    public function spent(): int
    {
        return $this->data['spent'];
    }

    /** The end of the day; null for KEY_ORDER and KEY_TOTAL (RFC 3339; answers are UTC with milliseconds) */
    public function resetTime(): ?string
    {
        return $this->data['resetTime'] ?? null;
    }
}

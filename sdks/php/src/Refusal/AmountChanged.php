<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200006, HTTP 422. The total has changed and nothing was bought. Compare data.current with your amount, then order
 * again with the current amount or without an amount. The guard amount differs from the current total of the order
 * (data.current). The same transactionId may be used again.
 */
final class AmountChanged extends Refused
{
    public const CODE = '200006';

    /** The current total (in 1/10 000 of `currencyCode`) */
    public function current(): int
    {
        return $this->data['current'];
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200007, HTTP 402. The balance does not cover the order and nothing was bought. Top up data.shortfall and order
 * again with the same transactionId. The balance plus the credit limit is smaller than the order. The refused order
 * was not recorded, so it can be repeated with the same transactionId after a top-up.
 */
final class BalanceInsufficient extends Refused
{
    public const CODE = '200007';

    /** in 1/10 000 of `currencyCode` */
    public function currentBalance(): int
    {
        return $this->data['currentBalance'];
    }

    /** The total of the order (in 1/10 000 of `currencyCode`) */
    public function requiredAmount(): int
    {
        return $this->data['requiredAmount'];
    }

    /** The amount that is missing, after the credit limit (in 1/10 000 of `currencyCode`) */
    public function shortfall(): int
    {
        return $this->data['shortfall'];
    }

    /** ISO 4217 */
    public function currencyCode(): string
    {
        return $this->data['currencyCode'];
    }
}

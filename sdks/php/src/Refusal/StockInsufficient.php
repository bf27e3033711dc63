<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200011, HTTP 422. There are not enough eSIMs of a package and nothing was bought. Order fewer eSIMs, choose another
 * package, or try again later. data.details identifies the line. The check is early and advisory: an order that
 * passes it can still run out of stock, and is then refunded.
 */
final class StockInsufficient extends Refused
{
    public const CODE = '200011';
}

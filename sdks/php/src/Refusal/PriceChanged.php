<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200005, HTTP 422. A price has changed and nothing was bought. Compare data.current with your price, then order
 * again with the current price or without a price. The guard price of the line listed in data.details differs from
 * the current price of one eSIM (data.current). The same transactionId may be used again. Of test/clock/advance: the
 * test time is not fromTime, but data.current; nothing was moved.
 */
final class PriceChanged extends Refused
{
    public const CODE = '200005';

    public function current(): int|string
    {
        return $this->data['current'];
    }
}

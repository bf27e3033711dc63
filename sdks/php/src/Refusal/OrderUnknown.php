<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200013, HTTP 404. There is no such order or action. Check orderNo, actionNo or transactionId. This tenant has no
 * order or action with that number or transactionId, or the two belong to different orders or actions. `esim/query`
 * finds orders and top-ups, `esim/action/query` actions. If an order call was not answered, nothing has been bought,
 * unless that call is still on its way: repeat the order with the same transactionId.
 */
final class OrderUnknown extends Refused
{
    public const CODE = '200013';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200012, HTTP 409. This transactionId was already used with different content, and nothing was changed. Use a new
 * transactionId for a new order. The transactionId belongs to an order, top-up or action with different content; all
 * three share one set of transactionIds. To get the first answer again, repeat the original content. A transactionId
 * can never be reused: every new order, top-up or action needs a new one. After a restore from a backup it can mean
 * that this order was sold before: message says so. Then ask the operator for its eSIMs instead of buying again.
 */
final class TransactionConflict extends Refused
{
    public const CODE = '200012';
}

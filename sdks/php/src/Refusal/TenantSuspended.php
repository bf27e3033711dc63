<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101005, HTTP 403. The account is suspended. Contact the operator. The operator has suspended the account. Paid
 * orders are still delivered or refunded, and their events are still sent.
 */
final class TenantSuspended extends Refused
{
    public const CODE = '101005';
}

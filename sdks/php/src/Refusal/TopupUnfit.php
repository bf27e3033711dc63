<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 310245, HTTP 422. This package cannot top up this eSIM and nothing was bought. Choose a package from package/list,
 * called with type TOPUP and the eSIM. A top-up needs a TOPUP package from the supplier of the eSIM, with the same
 * coverage and the same type of data.
 */
final class TopupUnfit extends Refused
{
    public const CODE = '310245';
}

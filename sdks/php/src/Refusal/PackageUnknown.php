<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 310241, HTTP 422. There is no such package and nothing was bought. Use a packageCode from package/list.
 * data.details identifies the line. The package does not exist for this tenant, or has no price in its currency.
 */
final class PackageUnknown extends Refused
{
    public const CODE = '310241';
}

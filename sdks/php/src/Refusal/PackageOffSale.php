<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 310244, HTTP 422. A package is off sale and nothing was bought. Choose another package from package/list.
 * data.details identifies the line. Poll package/list with updatedSince to learn which packages are taken off sale.
 */
final class PackageOffSale extends Refused
{
    public const CODE = '310244';
}

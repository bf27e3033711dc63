<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200018, HTTP 422. There is no such brand and nothing was changed. Leave brand out, or use one that the console
 * lists. The dealer has no brand of that name, data.brand.
 */
final class BrandUnknown extends Refused
{
    public const CODE = '200018';

    public function brand(): string
    {
        return $this->data['brand'];
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101002, HTTP 403. Calls from this address are not allowed. Add data.address to the IP allowlist, or call from an
 * allowed address. The tenant has an IP allowlist that does not contain data.address, the address seen by the
 * gateway. The allowlist can be edited in the console.
 */
final class AddressNotAllowed extends Refused
{
    public const CODE = '101002';

    /** The address that the gateway saw. */
    public function address(): string
    {
        return $this->data['address'];
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200015, HTTP 422. The supplier of this eSIM cannot do this and nothing was changed. Do not repeat the request: ask
 * the operator what is possible. Not every supplier can top up, cancel, suspend or revoke an eSIM. data.action states
 * what this supplier cannot do. TEST: the built-in sandbox does not deliver this eSIM or order, so no test operation
 * changes it.
 */
final class SupplierUnable extends Refused
{
    public const CODE = '200015';

    public function action(): string
    {
        return $this->data['action'];
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 101009, HTTP 403. This key may not call this operation. Use a key that may, or add the operation to the key. The
 * call is signed with a restricted key, whose operations do not include data.operation. An administrator of the
 * account changes them on the page API credentials. A restricted key can never set the webhook.
 */
final class OperationNotAllowed extends Refused
{
    public const CODE = '101009';

    public function operation(): string
    {
        return $this->data['operation'];
    }
}

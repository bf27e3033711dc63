<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200017, HTTP 422. The cancel policy of the package does not allow this and nothing was changed. Ask the operator to
 * cancel the eSIM. The package cannot be cancelled, or its cancellation period has ended (data.cancellableUntil). Ask
 * the operator.
 */
final class CancelPolicy extends Refused
{
    public const CODE = '200017';

    /** The end of the time to cancel; null: it never could be (RFC 3339; answers are UTC with milliseconds) */
    public function cancellableUntil(): ?string
    {
        return $this->data['cancellableUntil'] ?? null;
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200019, HTTP 422. This gateway sends no e-mail and nothing was changed. Pass shareUrl on yourself, or ask the
 * operator to set up e-mail. The operator has set up no mail server, so neither deliverTo of an order nor
 * esim/profile/send works.
 */
final class MailUnavailable extends Refused
{
    public const CODE = '200019';
}

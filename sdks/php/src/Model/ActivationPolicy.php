<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class ActivationPolicy
{
    public const ON_INSTALL = 'ON_INSTALL';
    public const ON_FIRST_NETWORK = 'ON_FIRST_NETWORK';
    public const ON_PURCHASE = 'ON_PURCHASE';
}

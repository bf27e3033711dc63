<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class StatementKind
{
    public const ORDER = 'ORDER';
    public const TOPUP = 'TOPUP';
    public const REFUND = 'REFUND';
    public const WALLET_TOPUP = 'WALLET_TOPUP';
    public const ADJUSTMENT = 'ADJUSTMENT';
}

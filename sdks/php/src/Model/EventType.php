<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class EventType
{
    public const ORDER_PAID = 'ORDER_PAID';
    public const DELIVERY_UPDATED = 'DELIVERY_UPDATED';
    public const ESIM_USAGE = 'ESIM_USAGE';
    public const ESIM_EXPIRING = 'ESIM_EXPIRING';
    public const ESIM_ACTION_UPDATED = 'ESIM_ACTION_UPDATED';
    public const BALANCE_LOW = 'BALANCE_LOW';
}

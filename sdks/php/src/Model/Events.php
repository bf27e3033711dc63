<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Event;

/** The classes of events by their `notifyType`. Others are an Event. */
final class Events
{
    /** @var array<string, class-string<Event>> */
    public const BY_TYPE = [
        'ORDER_PAID' => OrderPaidEvent::class,
        'DELIVERY_UPDATED' => DeliveryUpdatedEvent::class,
        'ESIM_USAGE' => EsimUsageEvent::class,
        'ESIM_EXPIRING' => EsimExpiringEvent::class,
        'ESIM_ACTION_UPDATED' => EsimActionUpdatedEvent::class,
        'BALANCE_LOW' => BalanceLowEvent::class,
        'CHECK_HEALTH' => CheckHealthEvent::class,
    ];
}

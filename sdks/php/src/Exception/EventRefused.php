<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** A call of the webhook that is not a genuine event. The message says which check failed. */
final class EventRefused extends DealerEsimException
{
    public const CODE = 'EVENT_REFUSED';
}

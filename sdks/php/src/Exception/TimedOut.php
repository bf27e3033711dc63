<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** No complete answer within `$timeoutS`, or within the `$waitS` of waitForOrder. */
final class TimedOut extends DealerEsimException
{
    public const CODE = 'TIMED_OUT';
}

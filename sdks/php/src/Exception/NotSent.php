<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** The request could not be made, for the reason in getPrevious(). Nothing was sent. */
final class NotSent extends DealerEsimException
{
    public const CODE = 'NOT_SENT';
}

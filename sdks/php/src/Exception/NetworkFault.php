<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** The connection could not be opened, or it broke. */
final class NetworkFault extends DealerEsimException
{
    public const CODE = 'NETWORK_FAULT';
}

<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/**
 * The gateway refused the call. The namespace Refusal has a class for each code; one that this version does not know is raised as
 * this class, with the `$errorCode` of the answer.
 */
class Refused extends DealerEsimException
{
}

<?php
declare(strict_types=1);

namespace DealerEsim\Exception;

/** The answer does not come from a gateway: a proxy's page, a redirect, or larger than the limit. */
final class AnswerUnreadable extends DealerEsimException
{
    public const CODE = 'ANSWER_UNREADABLE';
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 310403, HTTP 404. There is no such eSIM. Check esimTranNo or iccid. This tenant has no eSIM with that esimTranNo or
 * ICCID, or the two belong to different eSIMs.
 */
final class EsimUnknown extends Refused
{
    public const CODE = '310403';
}

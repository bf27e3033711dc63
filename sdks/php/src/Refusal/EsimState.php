<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/**
 * 200002, HTTP 409. The state of the eSIM does not allow this and nothing was changed. Check data.esimStatus; if
 * data.actionNo or data.orderNo is set, wait until that action or top-up has ended. data contains the status of the
 * eSIM and the open action (actionNo) or the open top-up (orderNo) that prevents the request. If both are null,
 * waiting does not help: a cancelled eSIM, for example, can never be topped up.
 */
final class EsimState extends Refused
{
    public const CODE = '200002';

    public function esimStatus(): string
    {
        return $this->data['esimStatus'];
    }

    public function smdpStatus(): ?string
    {
        return $this->data['smdpStatus'] ?? null;
    }

    public function suspended(): bool
    {
        return $this->data['suspended'];
    }

    /** The open action in the way. */
    public function actionNo(): ?string
    {
        return $this->data['actionNo'] ?? null;
    }

    /** The open top-up in the way. */
    public function orderNo(): ?string
    {
        return $this->data['orderNo'] ?? null;
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

class Action extends Model
{
    public readonly string $actionNo;

    /** The dealer's own key of the action; null: the operator began it. */
    public readonly ?string $transactionId;

    /** @var 'DEALER'|'OPERATOR' */
    public readonly string $startedBy;

    public readonly string $action;

    public readonly string $esimTranNo;

    public readonly string $iccid;

    /** The order that delivered the eSIM. */
    public readonly string $orderNo;

    public readonly string $actionStatus;

    /** The price less the fee; 0 until DONE (in 1/10 000 of `currencyCode`) */
    public readonly int $refundAmount;

    /** The part of the price that was not refunded; 0 until DONE (in 1/10 000 of `currencyCode`) */
    public readonly int $feeAmount;

    /** ISO 4217 */
    public readonly string $currencyCode;

    public readonly ?string $failureReason;

    /** The label of the restricted key at that time; null: the tenant's own key. */
    public readonly ?string $keyLabel;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $createTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['actionNo'])) { $this->actionNo = $data['actionNo']; }
        $this->transactionId = $data['transactionId'] ?? null;
        if (isset($data['startedBy'])) { $this->startedBy = $data['startedBy']; }
        if (isset($data['action'])) { $this->action = $data['action']; }
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['actionStatus'])) { $this->actionStatus = $data['actionStatus']; }
        if (isset($data['refundAmount'])) { $this->refundAmount = $data['refundAmount']; }
        if (isset($data['feeAmount'])) { $this->feeAmount = $data['feeAmount']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        $this->failureReason = $data['failureReason'] ?? null;
        $this->keyLabel = $data['keyLabel'] ?? null;
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class AccountStatementAnswerEntry extends Model
{
    /** Counts the entries of the tenant: 1, 2, 3 … without a gap. Only a filter leaves some out. */
    public readonly string $entryNo;

    public readonly string $kind;

    /** Negative for a debit (in 1/10 000 of `currencyCode`) */
    public readonly int $amount;

    /** The balance after this entry (in 1/10 000 of `currencyCode`) */
    public readonly int $balanceAfter;

    /** ISO 4217 */
    public readonly string $currencyCode;

    public readonly ?string $orderNo;

    /** The dealer's own key of the order that the entry belongs to. */
    public readonly ?string $transactionId;

    /** The eSIM that a top-up or a refund is for. */
    public readonly ?string $esimTranNo;

    /** The action that refunded the eSIM. */
    public readonly ?string $actionNo;

    /** The operator's reference of a payment or an adjustment. */
    public readonly ?string $reference;

    /** The label of the restricted key at that time; null: the tenant's own key. */
    public readonly ?string $keyLabel;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $createTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['entryNo'])) { $this->entryNo = $data['entryNo']; }
        if (isset($data['kind'])) { $this->kind = $data['kind']; }
        if (isset($data['amount'])) { $this->amount = $data['amount']; }
        if (isset($data['balanceAfter'])) { $this->balanceAfter = $data['balanceAfter']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        $this->orderNo = $data['orderNo'] ?? null;
        $this->transactionId = $data['transactionId'] ?? null;
        $this->esimTranNo = $data['esimTranNo'] ?? null;
        $this->actionNo = $data['actionNo'] ?? null;
        $this->reference = $data['reference'] ?? null;
        $this->keyLabel = $data['keyLabel'] ?? null;
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
    }
}

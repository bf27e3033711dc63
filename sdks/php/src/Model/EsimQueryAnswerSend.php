<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimQueryAnswerSend extends Model
{
    public readonly string $sendNo;

    /** The dealer's own key of the send; null: `deliverTo` of the order, or the console. */
    public readonly ?string $transactionId;

    public readonly string $esimTranNo;

    /** FAILED: the mail server has refused it. OPENED: the page of the eSIM was opened after it was sent. */
    public readonly string $sendStatus;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $createTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['sendNo'])) { $this->sendNo = $data['sendNo']; }
        $this->transactionId = $data['transactionId'] ?? null;
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['sendStatus'])) { $this->sendStatus = $data['sendStatus']; }
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

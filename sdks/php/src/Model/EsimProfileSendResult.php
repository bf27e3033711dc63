<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

final class EsimProfileSendResult extends EsimProfileSendAnswer
{
    /** True if the transactionId was used before: this is the earlier answer, and nothing was done again. */
    public readonly bool $replayed;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['replayed'])) { $this->replayed = $data['replayed']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LedgerCheckpointAnswer extends Model
{
    /** The entries 1 to this one are covered */
    public readonly int $treeSize;

    /** The root of the Merkle tree (RFC 9162) over these entries, base64 (RFC 4648 section 4) */
    public readonly string $rootHash;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $createTime;

    /**
     * The checkpoint as a signed note (C2SP tlog-checkpoint): origin, size, root, time, and an Ed25519 signature. Keep
     * it: it is what you hold against later answers.
     */
    public readonly string $note;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['treeSize'])) { $this->treeSize = $data['treeSize']; }
        if (isset($data['rootHash'])) { $this->rootHash = $data['rootHash']; }
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['note'])) { $this->note = $data['note']; }
    }
}

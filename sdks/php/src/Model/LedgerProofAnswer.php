<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LedgerProofAnswer extends Model
{
    /** `entryNo` - 1 */
    public readonly int $leafIndex;

    /** As in the request */
    public readonly int $treeSize;

    /**
     * The inclusion proof of RFC 9162 section 2.1.3.1
     * @var list<string>
     */
    public readonly array $hashes;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['leafIndex'])) { $this->leafIndex = $data['leafIndex']; }
        if (isset($data['treeSize'])) { $this->treeSize = $data['treeSize']; }
        if (isset($data['hashes'])) { $this->hashes = $data['hashes']; }
    }
}

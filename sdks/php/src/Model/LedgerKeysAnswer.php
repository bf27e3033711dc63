<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LedgerKeysAnswer extends Model
{
    /**
     * The keys of every cell that has signed for this tenant, oldest first.
     * @var list<LedgerKeysAnswerKey>
     */
    public readonly array $keys;

    /**
     * A signed note for each restore from a backup, oldest first: entries after the size that it names were lost, and
     * their numbers used again.
     * @var list<string>
     */
    public readonly array $restores;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['keys'])) { $this->keys = array_map(static fn (array $each) => new LedgerKeysAnswerKey($each), $data['keys']); }
        if (isset($data['restores'])) { $this->restores = $data['restores']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LedgerConsistencyAnswer extends Model
{
    /**
     * The consistency proof of RFC 9162 section 2.1.4.1; empty for equal sizes
     * @var list<string>
     */
    public readonly array $hashes;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['hashes'])) { $this->hashes = $data['hashes']; }
    }
}

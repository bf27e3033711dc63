<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class AccountStatementAnswer extends Model
{
    /** @var list<AccountStatementAnswerEntry> */
    public readonly array $entryList;

    /** Send it as `cursor` to get the next page; null on the last page. */
    public readonly ?string $nextCursor;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['entryList'])) { $this->entryList = array_map(static fn (array $each) => new AccountStatementAnswerEntry($each), $data['entryList']); }
        $this->nextCursor = $data['nextCursor'] ?? null;
    }
}

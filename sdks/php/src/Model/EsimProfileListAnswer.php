<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimProfileListAnswer extends Model
{
    /** @var list<Profile> */
    public readonly array $profileList;

    /** Send it as `cursor` to get the next page; null on the last page. */
    public readonly ?string $nextCursor;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['profileList'])) { $this->profileList = array_map(static fn (array $each) => new Profile($each), $data['profileList']); }
        $this->nextCursor = $data['nextCursor'] ?? null;
    }
}

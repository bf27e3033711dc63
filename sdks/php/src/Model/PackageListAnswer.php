<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class PackageListAnswer extends Model
{
    /** @var list<PackageOnSale|PackageOffSale> */
    public readonly array $packageList;

    /** Send it as `cursor` to get the next page; null on the last page. */
    public readonly ?string $nextCursor;

    /** The starting point for the next `updatedSince` (RFC 3339; answers are UTC with milliseconds) */
    public readonly string $asOf;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageList'])) { $this->packageList = array_map(static fn (array $each) => match ($each['status'] ?? null) { 'OFF_SALE' => new PackageOffSale($each), default => new PackageOnSale($each) }, $data['packageList']); }
        $this->nextCursor = $data['nextCursor'] ?? null;
        if (isset($data['asOf'])) { $this->asOf = $data['asOf']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class OrderPaidEventContentPackageInfo extends Model
{
    public readonly string $packageCode;

    public readonly string $packageName;

    public readonly int $count;

    /** in 1/10 000 of `currencyCode` */
    public readonly int $price;

    public readonly ?int $periodNum;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['packageName'])) { $this->packageName = $data['packageName']; }
        if (isset($data['count'])) { $this->count = $data['count']; }
        if (isset($data['price'])) { $this->price = $data['price']; }
        $this->periodNum = $data['periodNum'] ?? null;
    }
}

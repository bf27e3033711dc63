<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimOrderDryRunAnswerPackageInfo extends Model
{
    public readonly string $packageCode;

    public readonly string $packageName;

    public readonly int $count;

    /** The price of one eSIM, of a day pass for one day (in 1/10 000 of `currencyCode`) */
    public readonly int $price;

    /** Days of a day pass; null for other packages. */
    public readonly ?int $periodNum;

    /** eSIMs that can be delivered now; null if the supplier does not count them. */
    public readonly ?int $available;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['packageName'])) { $this->packageName = $data['packageName']; }
        if (isset($data['count'])) { $this->count = $data['count']; }
        if (isset($data['price'])) { $this->price = $data['price']; }
        $this->periodNum = $data['periodNum'] ?? null;
        $this->available = $data['available'] ?? null;
    }
}

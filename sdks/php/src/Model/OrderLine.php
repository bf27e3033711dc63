<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class OrderLine extends Model
{
    public readonly string $packageCode;

    public readonly string $packageName;

    public readonly int $count;

    /** The price of one eSIM, of a day pass for one day (in 1/10 000 of `currencyCode`) */
    public readonly int $price;

    /** Days of a day pass; null for other packages. */
    public readonly ?int $periodNum;

    public readonly int $deliveredCount;

    /** eSIMs that the supplier refused; they are refunded. */
    public readonly int $failedCount;

    public readonly ?string $failureReason;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['packageName'])) { $this->packageName = $data['packageName']; }
        if (isset($data['count'])) { $this->count = $data['count']; }
        if (isset($data['price'])) { $this->price = $data['price']; }
        $this->periodNum = $data['periodNum'] ?? null;
        if (isset($data['deliveredCount'])) { $this->deliveredCount = $data['deliveredCount']; }
        if (isset($data['failedCount'])) { $this->failedCount = $data['failedCount']; }
        $this->failureReason = $data['failureReason'] ?? null;
    }
}

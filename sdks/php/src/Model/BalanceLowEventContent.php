<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class BalanceLowEventContent extends Model
{
    /** in 1/10 000 of `currencyCode` */
    public readonly int $balance;

    /** in 1/10 000 of `currencyCode` */
    public readonly int $availableBalance;

    /** in 1/10 000 of `currencyCode` */
    public readonly int $lowBalanceThreshold;

    /**
     * The part of the threshold that the balance is now below.
     * @var 100|75|50|10
     */
    public readonly int $percent;

    /** ISO 4217 */
    public readonly string $currencyCode;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['balance'])) { $this->balance = $data['balance']; }
        if (isset($data['availableBalance'])) { $this->availableBalance = $data['availableBalance']; }
        if (isset($data['lowBalanceThreshold'])) { $this->lowBalanceThreshold = $data['lowBalanceThreshold']; }
        if (isset($data['percent'])) { $this->percent = $data['percent']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

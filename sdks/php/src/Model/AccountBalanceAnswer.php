<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class AccountBalanceAnswer extends Model
{
    /** in 1/10 000 of `currencyCode` */
    public readonly int $balance;

    /** How far below zero the balance may go (in 1/10 000 of `currencyCode`) */
    public readonly int $creditLimit;

    /** The amount that can be spent: `balance` + `creditLimit` (in 1/10 000 of `currencyCode`) */
    public readonly int $availableBalance;

    /** ISO 4217 */
    public readonly string $currencyCode;

    /** An alert is sent when the balance falls below this (in 1/10 000 of `currencyCode`) */
    public readonly ?int $lowBalanceThreshold;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['balance'])) { $this->balance = $data['balance']; }
        if (isset($data['creditLimit'])) { $this->creditLimit = $data['creditLimit']; }
        if (isset($data['availableBalance'])) { $this->availableBalance = $data['availableBalance']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        $this->lowBalanceThreshold = $data['lowBalanceThreshold'] ?? null;
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

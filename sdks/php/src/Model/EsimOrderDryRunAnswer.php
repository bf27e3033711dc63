<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimOrderDryRunAnswer extends Model
{
    /** Nothing is bought and nothing is reserved. */
    public readonly bool $validateOnly;

    /** The amount that an order would debit now (in 1/10 000 of `currencyCode`) */
    public readonly int $amount;

    /** ISO 4217 */
    public readonly string $currencyCode;

    /** The balance that it would leave (in 1/10 000 of `currencyCode`) */
    public readonly int $balanceAfter;

    /** @var list<EsimOrderDryRunAnswerPackageInfo> */
    public readonly array $packageInfoList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['validateOnly'])) { $this->validateOnly = $data['validateOnly']; }
        if (isset($data['amount'])) { $this->amount = $data['amount']; }
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        if (isset($data['balanceAfter'])) { $this->balanceAfter = $data['balanceAfter']; }
        if (isset($data['packageInfoList'])) { $this->packageInfoList = array_map(static fn (array $each) => new EsimOrderDryRunAnswerPackageInfo($each), $data['packageInfoList']); }
    }
}

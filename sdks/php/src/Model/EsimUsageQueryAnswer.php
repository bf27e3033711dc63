<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimUsageQueryAnswer extends Model
{
    /**
     * In the order of the request.
     * @var list<EsimUsageQueryAnswerEsimUsage>
     */
    public readonly array $esimUsageList;

    /**
     * Those of the request that are not eSIMs of this tenant.
     * @var list<string>
     */
    public readonly array $notFound;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['esimUsageList'])) { $this->esimUsageList = array_map(static fn (array $each) => new EsimUsageQueryAnswerEsimUsage($each), $data['esimUsageList']); }
        if (isset($data['notFound'])) { $this->notFound = $data['notFound']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LocationNetwork extends Model
{
    public readonly string $locationCode;

    public readonly string $locationName;

    /** @var list<LocationNetworkOperator> */
    public readonly array $operatorList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['locationCode'])) { $this->locationCode = $data['locationCode']; }
        if (isset($data['locationName'])) { $this->locationName = $data['locationName']; }
        if (isset($data['operatorList'])) { $this->operatorList = array_map(static fn (array $each) => new LocationNetworkOperator($each), $data['operatorList']); }
    }
}

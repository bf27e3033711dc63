<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LocationNetworkOperator extends Model
{
    public readonly string $operatorName;

    public readonly string $networkType;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['operatorName'])) { $this->operatorName = $data['operatorName']; }
        if (isset($data['networkType'])) { $this->networkType = $data['networkType']; }
    }
}

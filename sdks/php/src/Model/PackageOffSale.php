<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class PackageOffSale extends Model
{
    public readonly string $packageCode;

    /** @var 'OFF_SALE' */
    public readonly string $status;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['status'])) { $this->status = $data['status']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

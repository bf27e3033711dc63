<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class DeliveryUpdatedEventContentProfile extends Model
{
    public readonly string $esimTranNo;

    public readonly string $iccid;

    public readonly string $esimStatus;

    public readonly ?string $smdpStatus;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        if (isset($data['esimStatus'])) { $this->esimStatus = $data['esimStatus']; }
        $this->smdpStatus = $data['smdpStatus'] ?? null;
    }
}

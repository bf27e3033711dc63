<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class Profile extends Model
{
    /** The unique key of the eSIM: suppliers reuse ICCIDs. */
    public readonly string $esimTranNo;

    public readonly string $orderNo;

    /** The dealer's own key of the order, as sent with the order. */
    public readonly string $transactionId;

    public readonly string $packageCode;

    public readonly string $packageName;

    public readonly string $iccid;

    public readonly ?string $imsi;

    public readonly ?string $msisdn;

    /** The chip that the profile was installed on. */
    public readonly ?string $eid;

    /** The activation code. Keep it secret: anybody who has it can install the eSIM. */
    public readonly string $ac;

    public readonly string $smdpAddress;

    public readonly string $matchingId;

    /** If not null, the device asks for it at installation. */
    public readonly ?string $confirmationCode;

    public readonly ?string $pin;

    public readonly ?string $puk;

    /** Shows the QR code until the profile is installed. */
    public readonly string $qrCodeUrl;

    /** Opens the installation on iOS 17.4 and later. */
    public readonly string $appleInstallUrl;

    /** Opens the installation on Android. */
    public readonly string $androidInstallUrl;

    /** The traveller's page of this eSIM: installation, then status and usage. Null once it is cancelled or revoked. */
    public readonly ?string $shareUrl;

    public readonly ?string $apn;

    public readonly string $esimStatus;

    public readonly ?string $smdpStatus;

    /** Bytes; null when unlimited. */
    public readonly ?int $totalVolume;

    /** Bytes used; null when the supplier does not report it. */
    public readonly ?int $orderUsage;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $usageUpdateTime;

    /** In `durationUnit`. */
    public readonly int $totalDuration;

    public readonly string $durationUnit;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $installBefore;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $activateTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly ?string $expiredTime;

    /** True while the line is suspended. */
    public readonly bool $suspended;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $createTime;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['esimTranNo'])) { $this->esimTranNo = $data['esimTranNo']; }
        if (isset($data['orderNo'])) { $this->orderNo = $data['orderNo']; }
        if (isset($data['transactionId'])) { $this->transactionId = $data['transactionId']; }
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['packageName'])) { $this->packageName = $data['packageName']; }
        if (isset($data['iccid'])) { $this->iccid = $data['iccid']; }
        $this->imsi = $data['imsi'] ?? null;
        $this->msisdn = $data['msisdn'] ?? null;
        $this->eid = $data['eid'] ?? null;
        if (isset($data['ac'])) { $this->ac = $data['ac']; }
        if (isset($data['smdpAddress'])) { $this->smdpAddress = $data['smdpAddress']; }
        if (isset($data['matchingId'])) { $this->matchingId = $data['matchingId']; }
        $this->confirmationCode = $data['confirmationCode'] ?? null;
        $this->pin = $data['pin'] ?? null;
        $this->puk = $data['puk'] ?? null;
        if (isset($data['qrCodeUrl'])) { $this->qrCodeUrl = $data['qrCodeUrl']; }
        if (isset($data['appleInstallUrl'])) { $this->appleInstallUrl = $data['appleInstallUrl']; }
        if (isset($data['androidInstallUrl'])) { $this->androidInstallUrl = $data['androidInstallUrl']; }
        $this->shareUrl = $data['shareUrl'] ?? null;
        $this->apn = $data['apn'] ?? null;
        if (isset($data['esimStatus'])) { $this->esimStatus = $data['esimStatus']; }
        $this->smdpStatus = $data['smdpStatus'] ?? null;
        $this->totalVolume = $data['totalVolume'] ?? null;
        $this->orderUsage = $data['orderUsage'] ?? null;
        $this->usageUpdateTime = $data['usageUpdateTime'] ?? null;
        if (isset($data['totalDuration'])) { $this->totalDuration = $data['totalDuration']; }
        if (isset($data['durationUnit'])) { $this->durationUnit = $data['durationUnit']; }
        $this->installBefore = $data['installBefore'] ?? null;
        $this->activateTime = $data['activateTime'] ?? null;
        $this->expiredTime = $data['expiredTime'] ?? null;
        if (isset($data['suspended'])) { $this->suspended = $data['suspended']; }
        if (isset($data['createTime'])) { $this->createTime = $data['createTime']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class PackageOnSale extends Model
{
    /** Identifies the package in orders. */
    public readonly string $packageCode;

    public readonly string $slug;

    public readonly string $packageType;

    public readonly string $name;

    public readonly ?string $description;

    /** The price of one eSIM for this tenant, of a day pass for one day (in 1/10 000 of `currencyCode`) */
    public readonly int $price;

    /** The operator's recommended price for travellers (in 1/10 000 of `currencyCode`) */
    public readonly ?int $retailPrice;

    /** ISO 4217 */
    public readonly string $currencyCode;

    public readonly string $dataType;

    /** Bytes in total, or per day for DAILY. Null for UNLIMITED. */
    public readonly ?int $volume;

    /** In `durationUnit`, from activation. */
    public readonly int $duration;

    /** The minimum days of a day pass; null: the duration is fixed. */
    public readonly ?int $periodNumMin;

    /** The maximum days of a day pass; null: the duration is fixed. */
    public readonly ?int $periodNumMax;

    public readonly string $durationUnit;

    /** Days within which the eSIM must first be used. */
    public readonly int $unusedValidTime;

    /** The moment at which `duration` starts. */
    public readonly string $activationPolicy;

    /** True if the traveller must verify their identity first. */
    public readonly bool $ekycRequired;

    /** @var list<string> */
    public readonly array $locationCodes;

    /** @var list<LocationNetwork> */
    public readonly array $locationNetworkList;

    /** Maximum speed, in the words of the operator. */
    public readonly ?string $speed;

    /** The policy above the fair-use limit. */
    public readonly ?string $fupPolicy;

    /** 0: no SMS, 1: by phone and API, 2: by API only. */
    public readonly int $smsStatus;

    /** True if there are TOPUP packages for eSIMs of this package. */
    public readonly bool $topUpSupported;

    public readonly PackageOnSaleCancelPolicy $cancelPolicy;

    /** @var 'ON_SALE' */
    public readonly string $status;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['packageCode'])) { $this->packageCode = $data['packageCode']; }
        if (isset($data['slug'])) { $this->slug = $data['slug']; }
        if (isset($data['packageType'])) { $this->packageType = $data['packageType']; }
        if (isset($data['name'])) { $this->name = $data['name']; }
        $this->description = $data['description'] ?? null;
        if (isset($data['price'])) { $this->price = $data['price']; }
        $this->retailPrice = $data['retailPrice'] ?? null;
        if (isset($data['currencyCode'])) { $this->currencyCode = $data['currencyCode']; }
        if (isset($data['dataType'])) { $this->dataType = $data['dataType']; }
        $this->volume = $data['volume'] ?? null;
        if (isset($data['duration'])) { $this->duration = $data['duration']; }
        $this->periodNumMin = $data['periodNumMin'] ?? null;
        $this->periodNumMax = $data['periodNumMax'] ?? null;
        if (isset($data['durationUnit'])) { $this->durationUnit = $data['durationUnit']; }
        if (isset($data['unusedValidTime'])) { $this->unusedValidTime = $data['unusedValidTime']; }
        if (isset($data['activationPolicy'])) { $this->activationPolicy = $data['activationPolicy']; }
        if (isset($data['ekycRequired'])) { $this->ekycRequired = $data['ekycRequired']; }
        if (isset($data['locationCodes'])) { $this->locationCodes = $data['locationCodes']; }
        if (isset($data['locationNetworkList'])) { $this->locationNetworkList = array_map(static fn (array $each) => new LocationNetwork($each), $data['locationNetworkList']); }
        $this->speed = $data['speed'] ?? null;
        $this->fupPolicy = $data['fupPolicy'] ?? null;
        if (isset($data['smsStatus'])) { $this->smsStatus = $data['smsStatus']; }
        if (isset($data['topUpSupported'])) { $this->topUpSupported = $data['topUpSupported']; }
        if (isset($data['cancelPolicy'])) { $this->cancelPolicy = new PackageOnSaleCancelPolicy($data['cancelPolicy']); }
        if (isset($data['status'])) { $this->status = $data['status']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

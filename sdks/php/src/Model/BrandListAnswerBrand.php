<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class BrandListAnswerBrand extends Model
{
    /** For `brand` of an order line and of `esim/profile/send`. */
    public readonly string $brand;

    /** As travellers see it. */
    public readonly string $name;

    /** The brand of what names none. */
    public readonly bool $isDefault;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['brand'])) { $this->brand = $data['brand']; }
        if (isset($data['name'])) { $this->name = $data['name']; }
        if (isset($data['isDefault'])) { $this->isDefault = $data['isDefault']; }
    }
}

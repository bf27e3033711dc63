<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LocationListAnswerLocation extends Model
{
    public readonly string $locationCode;

    public readonly string $name;

    public readonly string $type;

    /**
     * The countries that regional or global packages cover together. Empty for a country.
     * @var list<string>
     */
    public readonly array $subLocationCodes;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['locationCode'])) { $this->locationCode = $data['locationCode']; }
        if (isset($data['name'])) { $this->name = $data['name']; }
        if (isset($data['type'])) { $this->type = $data['type']; }
        if (isset($data['subLocationCodes'])) { $this->subLocationCodes = $data['subLocationCodes']; }
    }
}

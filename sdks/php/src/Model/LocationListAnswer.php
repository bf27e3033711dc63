<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LocationListAnswer extends Model
{
    /** @var list<LocationListAnswerLocation> */
    public readonly array $locationList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['locationList'])) { $this->locationList = array_map(static fn (array $each) => new LocationListAnswerLocation($each), $data['locationList']); }
    }
}

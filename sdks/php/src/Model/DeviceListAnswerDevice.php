<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class DeviceListAnswerDevice extends Model
{
    public readonly string $brand;

    public readonly string $model;

    /** The year in which it came out. */
    public readonly ?int $since;

    /** Such as where it is sold without eSIM. */
    public readonly ?string $note;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['brand'])) { $this->brand = $data['brand']; }
        if (isset($data['model'])) { $this->model = $data['model']; }
        $this->since = $data['since'] ?? null;
        $this->note = $data['note'] ?? null;
    }
}

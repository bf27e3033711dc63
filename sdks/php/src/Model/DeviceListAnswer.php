<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class DeviceListAnswer extends Model
{
    /**
     * Never a promise: the same model may be sold without eSIM in some countries.
     * @var list<DeviceListAnswerDevice>
     */
    public readonly array $deviceList;

    /** Send it as `cursor` to get the next page; null on the last page. */
    public readonly ?string $nextCursor;

    /** The day on which the table was compiled. */
    public readonly string $asOf;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['deviceList'])) { $this->deviceList = array_map(static fn (array $each) => new DeviceListAnswerDevice($each), $data['deviceList']); }
        $this->nextCursor = $data['nextCursor'] ?? null;
        if (isset($data['asOf'])) { $this->asOf = $data['asOf']; }
    }
}

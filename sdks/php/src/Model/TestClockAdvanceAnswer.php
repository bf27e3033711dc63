<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class TestClockAdvanceAnswer extends Model
{
    /**
     * The test time at the end of the advance. It goes on as the real time does (RFC 3339; answers are UTC with
     * milliseconds)
     */
    public readonly string $testTime;

    public readonly int $advancedHours;

    /** eSIMs that the time has changed. */
    public readonly int $changedEsims;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['testTime'])) { $this->testTime = $data['testTime']; }
        if (isset($data['advancedHours'])) { $this->advancedHours = $data['advancedHours']; }
        if (isset($data['changedEsims'])) { $this->changedEsims = $data['changedEsims']; }
    }
}

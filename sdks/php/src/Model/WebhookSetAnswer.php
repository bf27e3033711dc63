<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class WebhookSetAnswer extends Model
{
    public readonly ?string $callbackUrl;

    /** @var list<string> */
    public readonly array $eventTypes;

    public readonly bool $enabled;

    /**
     * Ascending and distinct; empty: none.
     * @var list<int>
     */
    public readonly array $usageThresholds;

    /**
     * Ascending and distinct; empty: none.
     * @var list<int>
     */
    public readonly array $expiryNoticeHours;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $lastUpdateTime;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        $this->callbackUrl = $data['callbackUrl'] ?? null;
        if (isset($data['eventTypes'])) { $this->eventTypes = $data['eventTypes']; }
        if (isset($data['enabled'])) { $this->enabled = $data['enabled']; }
        if (isset($data['usageThresholds'])) { $this->usageThresholds = $data['usageThresholds']; }
        if (isset($data['expiryNoticeHours'])) { $this->expiryNoticeHours = $data['expiryNoticeHours']; }
        if (isset($data['lastUpdateTime'])) { $this->lastUpdateTime = $data['lastUpdateTime']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Event;

final class CheckHealthEvent extends Event
{
    /**
     * Only in an event of a test twin; events of live accounts have no `mode`.
     * @var 'TEST'|null
     */
    public readonly ?string $mode;

    public readonly array $content;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        $this->mode = $data['mode'] ?? null;
        if (isset($data['content'])) { $this->content = $data['content']; }
    }
}

<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Event;

final class OrderPaidEvent extends Event
{
    public readonly OrderPaidEventContent $content;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['content'])) { $this->content = new OrderPaidEventContent($data['content']); }
    }
}

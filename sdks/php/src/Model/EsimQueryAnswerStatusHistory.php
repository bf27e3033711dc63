<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class EsimQueryAnswerStatusHistory extends Model
{
    public readonly string $orderStatus;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $time;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderStatus'])) { $this->orderStatus = $data['orderStatus']; }
        if (isset($data['time'])) { $this->time = $data['time']; }
    }
}

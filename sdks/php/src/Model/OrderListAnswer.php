<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class OrderListAnswer extends Model
{
    /** @var list<OrderListAnswerOrder> */
    public readonly array $orderList;

    /** Send it as `cursor` to get the next page; null on the last page. */
    public readonly ?string $nextCursor;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['orderList'])) { $this->orderList = array_map(static fn (array $each) => new OrderListAnswerOrder($each), $data['orderList']); }
        $this->nextCursor = $data['nextCursor'] ?? null;
    }
}

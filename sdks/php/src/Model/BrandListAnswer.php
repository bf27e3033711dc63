<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class BrandListAnswer extends Model
{
    /**
     * The default brand first.
     * @var list<BrandListAnswerBrand>
     */
    public readonly array $brandList;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['brandList'])) { $this->brandList = array_map(static fn (array $each) => new BrandListAnswerBrand($each), $data['brandList']); }
    }
}

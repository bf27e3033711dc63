<?php
declare(strict_types=1);

namespace DealerEsim;

/**
 * An answer, or an object within one. Its members are properties, such as `$order->orderNo`. One that an older gateway does not
 * send is an error where it is read; what a newer one adds is in `$members`.
 */
abstract class Model implements \JsonSerializable
{
    /** @param array<string, mixed> $members all members, as they were sent */
    public function __construct(public readonly array $members)
    {
    }

    /** @return array<string, mixed> */
    public function jsonSerialize(): array
    {
        return $this->members;
    }
}

<?php
declare(strict_types=1);

namespace DealerEsim;

use DealerEsim\Model\Events;

/** A verified event. Each type has a class, such as Model\OrderPaidEvent; one of a newer gateway is an Event itself: ignore it. */
class Event extends Model
{
    /** The same on every attempt and every replay: ignore one that you have seen. */
    public readonly string $notifyId;

    public readonly string $notifyType;

    public readonly ?string $eventGenerateTime;

    /** True only in an event that `webhook/test` sent: its content is a sample. */
    public readonly bool $test;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        $this->notifyId = $data['notifyId'];
        $this->notifyType = $data['notifyType'];
        $this->eventGenerateTime = $data['eventGenerateTime'] ?? null;
        $this->test = ($data['test'] ?? false) === true;
    }

    /** @param array<string, mixed> $data */
    public static function from(array $data): self
    {
        $class = Events::BY_TYPE[$data['notifyType']] ?? self::class;
        return new $class($data);
    }
}

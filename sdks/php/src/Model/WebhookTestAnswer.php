<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class WebhookTestAnswer extends Model
{
    /** True if the receiver answered 2xx within 10 s. */
    public readonly bool $acknowledged;

    /** The receiver's HTTP status; null if it sent none. */
    public readonly ?int $httpStatus;

    public readonly int $durationMs;

    /**
     * TIMEOUT: no answer within 10 s. REFUSED: no connection, or it broke. TLS: no secure connection. ADDRESS: the name
     * cannot be resolved, or the address is not allowed. STATUS: not 2xx.
     */
    public readonly ?string $failure;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['acknowledged'])) { $this->acknowledged = $data['acknowledged']; }
        $this->httpStatus = $data['httpStatus'] ?? null;
        if (isset($data['durationMs'])) { $this->durationMs = $data['durationMs']; }
        $this->failure = $data['failure'] ?? null;
    }
}

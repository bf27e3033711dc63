<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

use DealerEsim\Model;

final class LedgerKeysAnswerKey extends Model
{
    /** The 32 bytes of an Ed25519 key, base64 */
    public readonly string $publicKey;

    /** RFC 3339; answers are UTC with milliseconds */
    public readonly string $validFrom;

    /** null: it still signs (RFC 3339; answers are UTC with milliseconds) */
    public readonly ?string $validUntil;

    /**
     * A note by which an earlier key signs this one, under the key name `dealer-esim-keys`. Trust a key because you trust
     * its endorser; null: the first key.
     */
    public readonly ?string $endorsement;

    /** @param array<string, mixed> $data */
    public function __construct(array $data)
    {
        parent::__construct($data);
        if (isset($data['publicKey'])) { $this->publicKey = $data['publicKey']; }
        if (isset($data['validFrom'])) { $this->validFrom = $data['validFrom']; }
        $this->validUntil = $data['validUntil'] ?? null;
        $this->endorsement = $data['endorsement'] ?? null;
    }
}

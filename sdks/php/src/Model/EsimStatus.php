<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class EsimStatus
{
    public const GOT_RESOURCE = 'GOT_RESOURCE';
    public const IN_USE = 'IN_USE';
    public const USED_UP = 'USED_UP';
    public const USED_EXPIRED = 'USED_EXPIRED';
    public const UNUSED_EXPIRED = 'UNUSED_EXPIRED';
    public const CANCEL = 'CANCEL';
    public const REVOKED = 'REVOKED';
}

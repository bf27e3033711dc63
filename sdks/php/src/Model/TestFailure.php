<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Model;

/** A newer gateway may answer with other values. */
final class TestFailure
{
    public const TIMEOUT = 'TIMEOUT';
    public const REFUSED = 'REFUSED';
    public const TLS = 'TLS';
    public const ADDRESS = 'ADDRESS';
    public const STATUS = 'STATUS';
}

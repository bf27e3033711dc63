<?php
// Generated from packages/contract by `npm run sdks`: do not edit.
declare(strict_types=1);

namespace DealerEsim\Refusal;

use DealerEsim\Exception\Refused;

/** The exceptions by their code. A code that is not here is raised as Refused. */
final class Refusals
{
    /** @var array<string, class-string<Refused>> */
    public const BY_CODE = [
        '000001' => InternalError::class,
        '000002' => Unavailable::class,
        '000101' => HeaderMissing::class,
        '000102' => HeaderMalformed::class,
        '000103' => MethodNotAllowed::class,
        '000104' => BodyNotJsonObject::class,
        '000105' => ParameterMissing::class,
        '000106' => ParameterNull::class,
        '000107' => ParameterLength::class,
        '000108' => ParameterInvalid::class,
        '000109' => OperationUnknown::class,
        '000110' => MediaTypeUnsupported::class,
        '000111' => BodyTooLarge::class,
        '101001' => TimestampOutsideWindow::class,
        '101002' => AddressNotAllowed::class,
        '101003' => SignatureMismatch::class,
        '101004' => AppKeyUnknown::class,
        '101005' => TenantSuspended::class,
        '101006' => RequestIdUsed::class,
        '101007' => RateLimited::class,
        '101008' => HttpsRequired::class,
        '101009' => OperationNotAllowed::class,
        '200002' => EsimState::class,
        '200005' => PriceChanged::class,
        '200006' => AmountChanged::class,
        '200007' => BalanceInsufficient::class,
        '200011' => StockInsufficient::class,
        '200012' => TransactionConflict::class,
        '200013' => OrderUnknown::class,
        '200014' => DailyLimitExceeded::class,
        '200015' => SupplierUnable::class,
        '200017' => CancelPolicy::class,
        '200018' => BrandUnknown::class,
        '200019' => MailUnavailable::class,
        '310241' => PackageUnknown::class,
        '310244' => PackageOffSale::class,
        '310245' => TopupUnfit::class,
        '310403' => EsimUnknown::class,
        '400101' => CallbackUrlNotAllowed::class,
        '400102' => CallbackUrlUnhealthy::class,
    ];
}

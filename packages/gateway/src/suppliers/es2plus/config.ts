import Type, { type Static } from 'typebox'
import { isAddressOrBlock } from '../../lib/address-blocks.ts'

const MINUTE_MS = 60_000

export const es2plusConfig = Type.Object(
  {
    /** The SM-DP+, without /gsma/rsp2/es2plus. */
    url: Type.String({ pattern: '^https?://', maxLength: 2048 }),
    /** Our identifier at the SM-DP+. */
    functionRequesterIdentifier: Type.String({ minLength: 1, maxLength: 128 }),
    /** For X-Admin-Protocol: v2.5.0 by default. */
    protocolVersion: Type.Optional(Type.String({ pattern: '^v?\\d+\\.\\d+\\.\\d+$' })),
    /** true: sends ICCIDs as twenty digits, padded with F. Both forms are accepted in answers. */
    iccidPadding: Type.Optional(Type.Boolean()),
    /** A range of ICCIDs that we choose from, 19 digits with the check digit. It makes repeated orders safe. */
    iccidRange: Type.Optional(
      Type.Object(
        { first: Type.String({ pattern: '^\\d{19}$' }), last: Type.String({ pattern: '^\\d{19}$' }) },
        { additionalProperties: false },
      ),
    ),
    /** For activation codes, if ConfirmOrder returns none. Default: the host of `url`. */
    smdpAddress: Type.Optional(Type.String({ minLength: 1, maxLength: 255 })),
    /** false: ConfirmOrder leaves the profile unreleased, and ReleaseProfile follows. */
    releaseWithConfirm: Type.Optional(Type.Boolean()),
    /** true: a function that answers `Failed` was certainly not executed, whatever its code. */
    failedIsDefinite: Type.Optional(Type.Boolean()),
    /** true: answers have no `header`; see outcome.ts. */
    answersWithoutHeader: Type.Optional(Type.Boolean()),
    ca: Type.Optional(Type.String()),
    cert: Type.Optional(Type.String()),
    key: Type.Optional(Type.String()),
    timeoutMs: Type.Optional(Type.Integer({ minimum: 100, maximum: 2 * MINUTE_MS })),
    /** How long after our time-out the SM-DP+ may still execute a call. */
    settlesMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 60 * MINUTE_MS })),
    giveUpAfterMs: Type.Optional(Type.Integer({ minimum: 0, maximum: 7 * 24 * 60 * MINUTE_MS })),
    concurrency: Type.Optional(Type.Integer({ minimum: 1, maximum: 1_000 })),
    perSecond: Type.Optional(Type.Integer({ minimum: 1, maximum: 10_000 })),
    /** Allowed senders of notifications: SHA-256 fingerprints of client certificates, or addresses and blocks behind a proxy. */
    notices: Type.Optional(
      Type.Object(
        {
          certificates: Type.Optional(
            Type.Array(Type.String({ pattern: '^([0-9A-Fa-f]{2}:?){32}$' }), { maxItems: 20 }),
          ),
          addresses: Type.Optional(Type.Array(Type.String({ maxLength: 64 }), { maxItems: 100 })),
          /** true: the points 100, 101 and 102 mean enabled, disabled and deleted. */
          extraPoints: Type.Optional(Type.Boolean()),
        },
        { additionalProperties: false },
      ),
    ),
  },
  { additionalProperties: false },
)
export type Es2plusConfig = Static<typeof es2plusConfig>

/** Leading digits that identify the issuer: both ends of a range share them. */
export const ISSUER_DIGITS = 7

/** Checks what the schema cannot express. */
export function findEs2plusFault({ iccidRange, cert, key, notices }: Es2plusConfig): string | undefined {
  if ((cert === undefined) !== (key === undefined)) return 'cert and key belong together: give both'
  if (iccidRange !== undefined) {
    const { first, last } = iccidRange
    if (first.slice(0, ISSUER_DIGITS) !== last.slice(0, ISSUER_DIGITS)) {
      return `iccidRange: first and last must begin with the same ${ISSUER_DIGITS} digits`
    }
    if (first > last) return 'iccidRange: first is greater than last'
  }
  const invalid = notices?.addresses?.find((block) => !isAddressOrBlock(block))
  return invalid === undefined ? undefined : `notices.addresses: ${invalid} is neither an address nor a block`
}

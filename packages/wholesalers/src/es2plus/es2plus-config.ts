import { isAddressOrBlock } from '@dealer-esim/lib/address-blocks.ts'
import Type, { type Static } from 'typebox'
import { addressesSetting, addressSetting, callSettings, nodeRateSetting, pemSetting } from '#supplier-settings.ts'

/** Defaults for settings that a configuration leaves out. */
export const DEFAULTS = {
  protocolVersion: 'v2.5.0',
  timeoutMs: 20_000,
  settlesMs: 60_000,
  giveUpAfterMs: 30 * 60_000,
  concurrency: 16,
}

export const es2plusConfig = Type.Object(
  {
    url: addressSetting('Of the SM-DP+, without /gsma/rsp2/es2plus.'),
    functionRequesterIdentifier: Type.String({
      title: 'Function requester identifier',
      description: 'Our identifier at the SM-DP+.',
      minLength: 1,
      maxLength: 128,
    }),
    cert: Type.Optional(pemSetting('Client certificate (PEM)')),
    key: Type.Optional(pemSetting('Private key of the client certificate (PEM)', { writeOnly: true })),
    ca: Type.Optional(pemSetting('Certificate authority of the SM-DP+ (PEM)')),
    smdpAddress: Type.Optional(
      Type.String({
        title: 'SM-DP+ address',
        description: 'For activation codes, if ConfirmOrder returns none. By default the host of the address.',
        minLength: 1,
        maxLength: 255,
      }),
    ),
    iccidRange: Type.Optional(
      Type.Object(
        {
          first: Type.String({ title: 'First ICCID', pattern: '^\\d{19}$' }),
          last: Type.String({ title: 'Last ICCID', pattern: '^\\d{19}$' }),
        },
        {
          title: 'Own range of ICCIDs',
          description: '19 digits with the check digit. We choose from it, which makes repeated orders safe.',
          additionalProperties: false,
        },
      ),
    ),
    notices: Type.Optional(
      Type.Object(
        {
          certificates: Type.Optional(
            Type.Array(Type.String({ pattern: '^([0-9A-Fa-f]{2}:?){32}$' }), {
              title: 'SHA-256 fingerprints of their client certificates',
              maxItems: 20,
            }),
          ),
          addresses: Type.Optional(addressesSetting('Addresses and blocks', 'Behind a proxy.')),
          extraPoints: Type.Optional(
            Type.Boolean({
              title: 'The points 100, 101 and 102 mean enabled, disabled and deleted',
              default: false,
              advanced: true,
            }),
          ),
        },
        {
          title: 'Senders of notifications',
          description: 'Others are refused. Without one, notifications are refused.',
          additionalProperties: false,
        },
      ),
    ),
    protocolVersion: Type.Optional(
      Type.String({
        title: 'Protocol version',
        description: 'For X-Admin-Protocol.',
        default: DEFAULTS.protocolVersion,
        pattern: '^v?\\d+\\.\\d+\\.\\d+$',
        advanced: true,
      }),
    ),
    iccidPadding: Type.Optional(
      Type.Boolean({ title: 'Send ICCIDs as twenty digits, padded with F', default: false, advanced: true }),
    ),
    releaseWithConfirm: Type.Optional(
      Type.Boolean({
        title: 'ConfirmOrder also releases the profile',
        description: 'Otherwise ReleaseProfile follows.',
        default: true,
        advanced: true,
      }),
    ),
    failedIsDefinite: Type.Optional(
      Type.Boolean({
        title: 'Failed is definite',
        description: 'A function that answers Failed was certainly not executed, whatever its code.',
        default: false,
        advanced: true,
      }),
    ),
    answersWithoutHeader: Type.Optional(
      Type.Boolean({
        title: 'Answers have no header',
        description: 'The status of a function is a member of the answer itself, or is left out.',
        default: false,
        advanced: true,
      }),
    ),
    ...callSettings(DEFAULTS),
    ...nodeRateSetting(),
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

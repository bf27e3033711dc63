import Type, { type Static } from 'typebox'
import { COVERED_COUNTRIES_MAX, KEYWORD_LENGTH_MAX, UPDATED_SINCE_OVERLAP_MS } from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { ACTIVATION_POLICIES, DATA_TYPES, DURATION_UNITS, PACKAGE_TYPES, SMS_STATUSES } from './enumerations.ts'
import {
  CLOSED,
  currencyCode,
  cursor,
  iccid,
  name,
  nextCursor,
  nullable,
  pageSize,
  price,
  quantity,
  time,
} from './scalars.ts'

export const packageListRequest = Type.Object(
  {
    type: Type.Optional(Type.Enum(PACKAGE_TYPES, { default: 'BASE' })),
    esimTranNo: Type.Optional(name({ description: 'With `type` TOPUP: only packages that fit this eSIM.' })),
    iccid: Type.Optional(
      iccid({ description: 'With `type` TOPUP: only packages that fit the newest eSIM with this ICCID.' }),
    ),
    packageCode: Type.Optional(name({ description: 'Only this package.' })),
    slug: Type.Optional(name({ description: 'Only the package with this slug.' })),
    locationCode: Type.Optional(
      Type.String({
        pattern: TEXT_PATTERNS.locationCode.pattern,
        description:
          'ISO 3166-1 alpha-2: packages that cover the country, including regional and global ones. `!RG`: regional ones. `!GL`: global ones.',
        examples: ['JP'],
      }),
    ),
    coversAll: Type.Optional(
      Type.Array(Type.String({ pattern: TEXT_PATTERNS.countryCode.pattern }), {
        minItems: 1,
        maxItems: COVERED_COUNTRIES_MAX,
        description: 'ISO 3166-1 alpha-2: only packages that cover every one of these countries.',
        examples: [['JP', 'KR']],
      }),
    ),
    volumeMin: Type.Optional(
      quantity({
        description: 'Only packages with at least this `volume` (bytes, per day for DAILY), and unlimited ones.',
      }),
    ),
    durationMin: Type.Optional(
      quantity({ description: 'Only packages of at least this many days; day passes count with `periodNumMax`.' }),
    ),
    keyword: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: KEYWORD_LENGTH_MAX,
        pattern: TEXT_PATTERNS.line.pattern,
        description: 'Part of a name, a code or a location.',
      }),
    ),
    updatedSince: Type.Optional(
      time({
        description: `Only packages that changed since then; packages taken off sale are returned as OFF_SALE. Poll with the last \`asOf\` minus ${UPDATED_SINCE_OVERLAP_MS / 60_000} minutes`,
      }),
    ),
    pageSize: Type.Optional(pageSize()),
    cursor: Type.Optional(cursor()),
  },
  CLOSED,
)
export type PackageListRequest = Static<typeof packageListRequest>

export const locationNetwork = Type.Object({
  locationCode: Type.String(),
  locationName: Type.String(),
  operatorList: Type.Array(
    Type.Object({ operatorName: Type.String(), networkType: Type.String({ examples: ['5G'] }) }),
  ),
})
export type LocationNetwork = Static<typeof locationNetwork>

export const cancelPolicy = Type.Object({
  cancellable: Type.Boolean({ description: 'Whether an unused eSIM can be cancelled by `esim/cancel`.' }),
  withinDays: nullable(quantity({ description: 'Days from the creation of the eSIM; null: no limit.' })),
  feePercent: Type.Integer({ minimum: 0, maximum: 100, description: 'Percent of the price that is not refunded.' }),
})
export type CancelPolicy = Static<typeof cancelPolicy>

/** A package that the tenant may buy now. */
export const packageOnSale = Type.Object({
  packageCode: Type.String({ description: 'Identifies the package in orders.', examples: ['JP_1_7'] }),
  slug: Type.String(),
  packageType: Type.Enum(PACKAGE_TYPES),
  name: Type.String(),
  description: nullable(Type.String()),
  price: price({ description: 'The price of one eSIM for this tenant, of a day pass for one day' }),
  retailPrice: nullable(price({ description: "The operator's recommended price for travellers" })),
  currencyCode: currencyCode(),
  dataType: Type.Enum(DATA_TYPES),
  volume: nullable(quantity({ description: 'Bytes in total, or per day for DAILY. Null for UNLIMITED.' })),
  duration: quantity({ description: 'In `durationUnit`, from activation.' }),
  periodNumMin: nullable(quantity({ description: 'The minimum days of a day pass; null: the duration is fixed.' })),
  periodNumMax: nullable(quantity({ description: 'The maximum days of a day pass; null: the duration is fixed.' })),
  durationUnit: Type.Enum(DURATION_UNITS),
  unusedValidTime: quantity({ description: 'Days within which the eSIM must first be used.' }),
  activationPolicy: Type.Enum(ACTIVATION_POLICIES, { description: 'The moment at which `duration` starts.' }),
  ekycRequired: Type.Boolean({ description: 'True if the traveller must verify their identity first.' }),
  locationCodes: Type.Array(Type.String()),
  locationNetworkList: Type.Array(locationNetwork),
  speed: nullable(Type.String({ description: 'Maximum speed, in the words of the operator.' })),
  fupPolicy: nullable(Type.String({ description: 'The policy above the fair-use limit.' })),
  smsStatus: Type.Enum(SMS_STATUSES, { description: '0: no SMS, 1: by phone and API, 2: by API only.' }),
  topUpSupported: Type.Boolean({ description: 'True if there are TOPUP packages for eSIMs of this package.' }),
  cancelPolicy,
  status: Type.Literal('ON_SALE'),
  lastUpdateTime: time(),
})
export type PackageOnSale = Static<typeof packageOnSale>

/** Returned only with `updatedSince`: the tenant can no longer buy this package. */
export const packageOffSale = Type.Object({
  packageCode: Type.String(),
  status: Type.Literal('OFF_SALE'),
  lastUpdateTime: time(),
})
export type PackageOffSale = Static<typeof packageOffSale>

export type Package = PackageOnSale | PackageOffSale

export const packageListAnswer = Type.Object({
  packageList: Type.Array(Type.Union([packageOnSale, packageOffSale])),
  nextCursor: nextCursor(),
  asOf: time({ description: 'The starting point for the next `updatedSince`' }),
})
export type PackageListAnswer = Static<typeof packageListAnswer>

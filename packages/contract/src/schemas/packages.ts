import Type, { type Static } from 'typebox'
import { KEYWORD_LENGTH_MAX, UPDATED_SINCE_OVERLAP_MS } from '../limits.ts'
import { CLOSED, currencyCode, cursor, name, nextCursor, nullable, pageSize, price, quantity, time } from './scalars.ts'
import { TEXT_PATTERNS } from './text-patterns.ts'

export const DATA_TYPES = ['TOTAL', 'DAILY', 'UNLIMITED'] as const
export type DataType = (typeof DATA_TYPES)[number]

export const ACTIVATION_POLICIES = ['ON_INSTALL', 'ON_FIRST_NETWORK', 'ON_PURCHASE'] as const
export type ActivationPolicy = (typeof ACTIVATION_POLICIES)[number]

export const PACKAGE_STATUSES = ['ON_SALE', 'OFF_SALE'] as const
export type PackageStatus = (typeof PACKAGE_STATUSES)[number]

export const DURATION_UNITS = ['DAY'] as const
export type DurationUnit = (typeof DURATION_UNITS)[number]

/** 0 none, 1 by phone and API, 2 by API. */
export const SMS_STATUSES = [0, 1, 2] as const
export type SmsStatus = (typeof SMS_STATUSES)[number]

/** Location codes that name no country. */
export const REGIONAL = '!RG'
export const GLOBAL = '!GL'

export const packageListRequest = Type.Object(
  {
    packageCode: Type.Optional(name({ description: 'Only this package.' })),
    slug: Type.Optional(name({ description: 'Only the package with this slug.' })),
    locationCode: Type.Optional(
      Type.String({
        pattern: TEXT_PATTERNS.locationCode.pattern,
        description:
          'ISO 3166-1 alpha-2: packages that cover the country, wider ones included. `!RG`: regional ones. `!GL`: global ones.',
        examples: ['JP'],
      }),
    ),
    keyword: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: KEYWORD_LENGTH_MAX,
        pattern: TEXT_PATTERNS.line.pattern,
        description: 'Part of a name, a code or a place.',
      }),
    ),
    updatedSince: Type.Optional(
      time({
        description: `Only what changed since; packages that left sale come as OFF_SALE. Poll with the last \`asOf\` less ${UPDATED_SINCE_OVERLAP_MS / 60_000} minutes`,
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

/** A package that the tenant may buy now. */
export const packageOnSale = Type.Object({
  packageCode: Type.String({ description: 'Orders name the package by this.', examples: ['JP_1_7'] }),
  slug: Type.String(),
  name: Type.String(),
  description: nullable(Type.String()),
  price: price({ description: 'What this tenant pays for one eSIM' }),
  retailPrice: nullable(price({ description: 'What the operator recommends as the price to the traveller' })),
  currencyCode: currencyCode(),
  dataType: Type.Enum(DATA_TYPES),
  volume: nullable(quantity({ description: 'Bytes: in all, or per day when DAILY. Null when UNLIMITED.' })),
  duration: quantity({ description: 'In `durationUnit`, from activation.' }),
  durationUnit: Type.Enum(DURATION_UNITS),
  unusedValidTime: quantity({ description: 'Days in which the first use must happen.' }),
  activationPolicy: Type.Enum(ACTIVATION_POLICIES, { description: 'When `duration` starts to run.' }),
  ekycRequired: Type.Boolean({ description: 'Whether the traveller must identify himself first.' }),
  locationCodes: Type.Array(Type.String()),
  locationNetworkList: Type.Array(locationNetwork),
  speed: nullable(Type.String({ description: 'Highest speed, as the operator words it.' })),
  fupPolicy: nullable(Type.String({ description: 'What happens above the fair-use limit.' })),
  smsStatus: Type.Enum(SMS_STATUSES, { description: '0 none, 1 by phone and API, 2 by API.' }),
  status: Type.Literal('ON_SALE'),
  lastUpdateTime: time(),
})
export type PackageOnSale = Static<typeof packageOnSale>

/** Answers to `updatedSince` only: the tenant may no longer buy it. */
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
  asOf: time({ description: 'What the next `updatedSince` starts from' }),
})
export type PackageListAnswer = Static<typeof packageListAnswer>

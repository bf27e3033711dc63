import {
  ACTIVATION_POLICIES,
  cancelPolicy,
  DATA_TYPES,
  DURATION_UNITS,
  locationNetwork,
  MONEY_MAX,
  NAME_LENGTH_MAX,
  PACKAGE_STATUSES,
  PACKAGE_TYPES,
  PERIOD_NUM_MAX,
  SMS_STATUSES,
  TEXT_PATTERNS,
} from '@dealer-esim/contract'
import Type, { type Static, type TSchema } from 'typebox'
import { Compile } from 'typebox/compile'

/** The maximum number of suppliers per package: they are tried one after another while a traveller waits. */
export const SUPPLIERS_MAX = 10
const CURRENCIES_MAX = 50
const LOCATIONS_MAX = 300
const OPERATORS_MAX = 50
const DAYS_MAX = 3_650
const TEXT_LENGTH_MAX = 2_000

const CLOSED = { additionalProperties: false } as const
const line = (maxLength: number) => Type.String({ minLength: 1, maxLength, pattern: TEXT_PATTERNS.line.pattern })
const text = () => Type.String({ minLength: 1, maxLength: TEXT_LENGTH_MAX, pattern: TEXT_PATTERNS.text.pattern })
const nullable = <T extends TSchema>(schema: T) => Type.Union([schema, Type.Null()])
const money = () => Type.Integer({ minimum: 0, maximum: MONEY_MAX })
const days = (minimum: number) => Type.Integer({ minimum, maximum: DAYS_MAX })
const packageCode = () => Type.String({ minLength: 1, maxLength: NAME_LENGTH_MAX, pattern: TEXT_PATTERNS.code.pattern })
const currencyCode = () => Type.String({ pattern: TEXT_PATTERNS.currencyCode.pattern })

const supplierDocument = Type.Object(
  {
    supplier: line(NAME_LENGTH_MAX),
    productCode: line(128),
    costPrice: nullable(money()),
    costCurrency: nullable(currencyCode()),
  },
  CLOSED,
)
export type SupplierDocument = Static<typeof supplierDocument>

const priceDocument = Type.Object(
  { currencyCode: currencyCode(), price: money(), retailPrice: nullable(money()) },
  CLOSED,
)
export type PriceDocument = Static<typeof priceDocument>

const periodNum = () => Type.Integer({ minimum: 1, maximum: PERIOD_NUM_MAX })

/**
 * A package as operators edit it: the contract's members, its list price in each currency, and its suppliers in the order
 * of trying them. Money is in 1/10 000, as on the wire.
 */
const packageDocument = Type.Object(
  {
    packageCode: packageCode(),
    slug: line(NAME_LENGTH_MAX),
    packageType: Type.Enum(PACKAGE_TYPES),
    productFamily: nullable(line(NAME_LENGTH_MAX)),
    name: line(200),
    description: nullable(text()),
    status: Type.Enum(PACKAGE_STATUSES),
    dataType: Type.Enum(DATA_TYPES),
    volume: nullable(Type.Integer({ minimum: 1, maximum: Number.MAX_SAFE_INTEGER })),
    duration: days(1),
    durationUnit: Type.Enum(DURATION_UNITS),
    periodNumMin: nullable(periodNum()),
    periodNumMax: nullable(periodNum()),
    unusedValidTime: days(0),
    activationPolicy: Type.Enum(ACTIVATION_POLICIES),
    ekycRequired: Type.Boolean(),
    locationCodes: Type.Array(Type.String({ pattern: TEXT_PATTERNS.locationCode.pattern }), {
      minItems: 1,
      maxItems: LOCATIONS_MAX,
    }),
    locationNetworkList: Type.Array(closedNetwork(), { maxItems: LOCATIONS_MAX }),
    speed: nullable(line(100)),
    fupPolicy: nullable(text()),
    smsStatus: Type.Enum(SMS_STATUSES),
    allowLoss: Type.Boolean(),
    cancelPolicy: Type.Object(
      {
        cancellable: Type.Boolean(),
        withinDays: nullable(days(1)),
        feePercent: cancelPolicy.properties.feePercent,
      },
      CLOSED,
    ),
    prices: Type.Array(priceDocument, { maxItems: CURRENCIES_MAX }),
    suppliers: Type.Array(supplierDocument, { maxItems: SUPPLIERS_MAX }),
  },
  CLOSED,
)
export type PackageDocument = Static<typeof packageDocument>

export const packageDocumentSchema: TSchema = packageDocument
export const isPackageDocument = Compile(packageDocument)

/** The contract's shape, with limits on what an operator may write. */
function closedNetwork() {
  const { locationCode, locationName } = locationNetwork.properties
  const operator = Type.Object({ operatorName: line(100), networkType: line(20) }, CLOSED)
  return Type.Object(
    {
      locationCode: { ...locationCode, pattern: '^[A-Z]{2}$' } as typeof locationCode,
      locationName: {
        ...locationName,
        minLength: 1,
        maxLength: 100,
        pattern: TEXT_PATTERNS.line.pattern,
      } as typeof locationName,
      operatorList: Type.Array(operator, { maxItems: OPERATORS_MAX }),
    },
    CLOSED,
  )
}

/** The members that dealers see or notice, except prices. Changing one of these updates lastUpdateTime. */
export const VISIBLE_MEMBERS = [
  'slug',
  'packageType',
  'productFamily',
  'name',
  'description',
  'status',
  'dataType',
  'volume',
  'duration',
  'durationUnit',
  'periodNumMin',
  'periodNumMax',
  'unusedValidTime',
  'activationPolicy',
  'ekycRequired',
  'locationCodes',
  'locationNetworkList',
  'speed',
  'fupPolicy',
  'smsStatus',
  'cancelPolicy',
] as const satisfies (keyof PackageDocument)[]

import {
  type CancelPolicy,
  CURRENCY_ADVICE,
  type Fault,
  findFraction,
  isCurrency,
  listFaults,
  MONEY_MAX,
  TEXT_PATTERNS,
} from '@dealer-esim/contract'
import Type from 'typebox'
import { countryName, isLocation } from '../coverage.ts'
import {
  isPackageDocument,
  type PackageDocument,
  type PriceDocument,
  packageDocumentSchema,
  SUPPLIERS_MAX,
} from './package-document.ts'

/** A package as typed or imported: members of the document, and the contract's price, retailPrice, currencyCode. */
export type PackageInput = Readonly<Record<string, unknown>>

export type Merged = { readonly document: PackageDocument } | { readonly faults: readonly Fault[] }

/**
 * Merges input into a package. An absent member keeps its value, or gets its default in a new package; null clears it.
 * Prices are merged by currency (a price of null removes it), and the suppliers are replaced as a whole.
 */
export function mergePackage(existing: PackageDocument | undefined, input: PackageInput): Merged {
  const { price, retailPrice, currencyCode, prices, lastUpdateTime: _, topUpSupported: __, ...members } = input
  const priceFaults: Fault[] = []
  const defaults = defaultsOf(input)
  const draft: Record<string, unknown> = Object.assign({}, existing ?? defaults, cleared(members, defaults))
  draft.suppliers = withAbsentCosts(draft.suppliers)
  draft.cancelPolicy = withAbsentMembers(draft.cancelPolicy, existing?.cancelPolicy ?? NOT_CANCELLABLE)
  Object.assign(draft, locationsOf(existing, members))
  const entries = priceEntries({ price, retailPrice, currencyCode, prices }, priceFaults)
  draft.prices = priceFaults.length > 0 ? [] : mergePrices(existing?.prices ?? [], entries, priceFaults)
  const faults = [
    ...(isPackageDocument.Check(draft) ? crossFaults(draft, existing) : listFaults(packageDocumentSchema, draft)),
    ...priceFaults,
  ].filter(({ field }) => field !== 'slug' || draft.slug !== undefined) // its default is the packageCode, whose absence is already a fault
  return faults.length > 0 ? { faults } : { document: draft as PackageDocument }
}

/**
 * Optional members of a new package. A single object literal, because a version with a spread took half of the time spent
 * checking a file's rows.
 */
function defaultsOf(input: PackageInput): Record<string, unknown> {
  return {
    slug: typeof input.packageCode === 'string' ? input.packageCode : undefined,
    packageType: 'BASE',
    productFamily: null,
    description: null,
    status: 'ON_SALE',
    volume: null,
    durationUnit: 'DAY',
    periodNumMin: null,
    periodNumMax: null,
    unusedValidTime: 180,
    activationPolicy: 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationNetworkList: [],
    speed: null,
    fupPolicy: null,
    smsStatus: 0,
    allowLoss: false,
    cancelPolicy: NOT_CANCELLABLE,
    suppliers: [],
  }
}

const NOT_CANCELLABLE: CancelPolicy = { cancellable: false, withinDays: null, feePercent: 0 }

/** An absent member keeps its value; null clears it. */
function withAbsentMembers(policy: unknown, before: CancelPolicy): unknown {
  if (!isRecord(policy)) return policy
  return { ...before, ...cleared(policy, { ...NOT_CANCELLABLE }) }
}

/** Replaces null with the member's default, if it has one. */
function cleared(members: PackageInput, defaults: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(members)
      .filter(([, value]) => value !== undefined)
      .map(([member, value]) => [member, value === null ? (defaults[member] ?? null) : value]),
  )
}

function withAbsentCosts(suppliers: unknown): unknown {
  if (!Array.isArray(suppliers)) return suppliers
  return suppliers.map((supplier) =>
    isRecord(supplier) ? { costPrice: null, costCurrency: null, ...withoutUndefined(supplier) } : supplier,
  )
}

function withoutUndefined(value: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(value).filter(([, member]) => member !== undefined))
}

/** Adds networks without operators for codes without networks, or derives the codes from the networks. */
function locationsOf(existing: PackageDocument | undefined, members: PackageInput): Partial<PackageDocument> {
  const { locationCodes: codes, locationNetworkList: networks } = members
  if (networks == null && Array.isArray(codes)) {
    const known = new Map(existing?.locationNetworkList.map((network) => [network.locationCode, network]))
    // A malformed code is a fault in locationCodes, not in networks that were never given.
    const countries = codes.filter((code): code is string => typeof code === 'string' && /^[A-Z]{2}$/.test(code))
    return {
      locationNetworkList: countries.map(
        (code) => known.get(code) ?? { locationCode: code, locationName: countryName(code), operatorList: [] },
      ),
    }
  }
  if (codes == null && Array.isArray(networks) && !existing) {
    return { locationCodes: [...new Set(networks.map((network) => network?.locationCode))] }
  }
  return {}
}

const priceEntry = Type.Object(
  {
    currencyCode: Type.String({ pattern: TEXT_PATTERNS.currencyCode.pattern }),
    price: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: MONEY_MAX }), Type.Null()])),
    retailPrice: Type.Optional(Type.Union([Type.Integer({ minimum: 0, maximum: MONEY_MAX }), Type.Null()])),
  },
  { additionalProperties: false },
)

interface PriceEntry {
  /** Its path in the input: '' or `prices[2].`. */
  readonly at: string
  readonly currencyCode: string
  readonly price?: number | null
  readonly retailPrice?: number | null
}

function priceEntries(input: PackageInput, faults: Fault[]): PriceEntry[] {
  const { prices, ...single } = input
  const written: [at: string, value: unknown][] = []
  // In the export of a package without any price, all three members are null.
  if (Object.values(single).some((value) => value != null)) written.push(['', withoutUndefined(single)])
  if (Array.isArray(prices)) written.push(...prices.map((value, i): [string, unknown] => [`prices[${i}].`, value]))
  else if (prices != null) faults.push({ code: '000108', field: 'prices', reason: 'Send a JSON array.' })
  return written.flatMap(([at, value]) => {
    const found = listFaults(priceEntry, value)
    faults.push(...found.map((fault) => ({ ...fault, field: `${at}${fault.field}` })))
    return found.length > 0 ? [] : [{ ...(value as Omit<PriceEntry, 'at'>), at }]
  })
}

function mergePrices(existing: readonly PriceDocument[], entries: PriceEntry[], faults: Fault[]): PriceDocument[] {
  const prices = new Map(existing.map((price) => [price.currencyCode, price]))
  const seen = new Set<string>()
  for (const { at, currencyCode, price, retailPrice } of entries) {
    if (seen.has(currencyCode)) {
      faults.push({ code: '000108', field: `${at}currencyCode`, reason: 'The currency has two prices: keep one.' })
    }
    seen.add(currencyCode)
    const before = prices.get(currencyCode)
    const amount = price === undefined ? before?.price : price
    if (amount === null && retailPrice != null) {
      faults.push({
        code: '000108',
        field: `${at}retailPrice`,
        reason: 'A retail price needs a price: enter both, or neither.',
      })
    } else if (amount === null) prices.delete(currencyCode)
    else if (amount === undefined) {
      faults.push({ code: '000105', field: `${at}price`, reason: 'Missing: add it.' })
    } else {
      const retail = retailPrice === undefined ? (before?.retailPrice ?? null) : retailPrice
      faults.push(...listAmountFaults({ at, currencyCode, price: amount, retailPrice: retail }, before))
      prices.set(currencyCode, { currencyCode, price: amount, retailPrice: retail })
    }
  }
  return [...prices.values()].sort((a, b) => (a.currencyCode < b.currencyCode ? -1 : 1))
}

/** An existing amount may predate these rules, and must not block other changes. */
function listAmountFaults(entry: Required<PriceEntry>, before: PriceDocument | undefined): Fault[] {
  const { at, currencyCode } = entry
  const fault = (member: string, reason: string): Fault => ({ code: '000108', field: `${at}${member}`, reason })
  if (!before && !isCurrency(currencyCode)) return [fault('currencyCode', CURRENCY_ADVICE)]
  return (['price', 'retailPrice'] as const).flatMap((member) => {
    const amount = entry[member]
    const fraction = amount === null || amount === before?.[member] ? undefined : findFraction(amount, currencyCode)
    return fraction === undefined ? [] : [fault(member, fraction)]
  })
}

/** Checks what a schema cannot express. */
function crossFaults(document: PackageDocument, existing: PackageDocument | undefined): Fault[] {
  const faults: Fault[] = []
  const fault = (field: string, reason: string) => faults.push({ code: '000108', field, reason })
  if (existing && existing.packageType !== document.packageType) {
    fault(
      'packageType',
      `The type must stay ${existing.packageType}: to change it, add a package with a different code.`,
    )
  }
  if (document.packageType === 'TOPUP' && document.cancelPolicy.cancellable) {
    fault('cancelPolicy.cancellable', 'A TOPUP package cannot be cancelled: set cancellable to false.')
  }
  addPeriodFaults(document, fault)
  if (document.dataType === 'UNLIMITED' && document.volume !== null) {
    fault('volume', 'An UNLIMITED package has no volume: leave it empty, or change dataType.')
  }
  if (document.dataType !== 'UNLIMITED' && document.volume === null) {
    fault('volume', 'Missing: enter the number of bytes, or set dataType to UNLIMITED.')
  }
  if (document.dataType === 'DAILY' && (document.volume ?? 0) * document.duration > Number.MAX_SAFE_INTEGER) {
    fault(
      'volume',
      'Over its whole duration, that is more than an eSIM can report: enter fewer bytes a day, or set dataType to UNLIMITED.',
    )
  }
  const seen = new Set<string>()
  document.locationCodes.forEach((code, i) => {
    if (seen.has(code)) fault(`locationCodes[${i}]`, `${code} is listed twice: remove one.`)
    seen.add(code)
    if (!isLocation(code))
      fault(`locationCodes[${i}]`, `${code} is not an ISO 3166-1 alpha-2 country code${hint(code)}.`)
  })
  document.locationNetworkList.forEach(({ locationCode: code }, i) => {
    if (!isLocation(code) && !seen.has(code))
      fault(`locationNetworkList[${i}].locationCode`, `${code} is not a country code${hint(code)}.`)
  })
  addCostCurrencyFaults(document, existing, fault)
  document.suppliers.forEach(({ costPrice, costCurrency }, i) => {
    if (costPrice !== null && costCurrency === null)
      fault(`suppliers[${i}].costCurrency`, 'The cost has no currency: add one, or remove the cost.')
    if (costPrice === null && costCurrency !== null)
      fault(`suppliers[${i}].costPrice`, 'The currency has no cost: add the cost, or remove the currency.')
  })
  if (document.status === 'ON_SALE' && document.suppliers.length === 0) {
    fault('suppliers', `A package on sale needs 1 to ${SUPPLIERS_MAX} suppliers: add one, or set status to OFF_SALE.`)
  }
  return faults
}

/** An existing cost may predate this rule, and must not block other changes. */
function addCostCurrencyFaults(
  { suppliers }: PackageDocument,
  existing: PackageDocument | undefined,
  fault: (field: string, reason: string) => void,
): void {
  const known = new Set(existing?.suppliers.map(({ costCurrency }) => costCurrency))
  suppliers.forEach(({ costCurrency }, i) => {
    if (costCurrency === null || known.has(costCurrency) || isCurrency(costCurrency)) return
    fault(`suppliers[${i}].costCurrency`, CURRENCY_ADVICE)
  })
}

/** Checks the days that a dealer may choose for a day pass. */
function addPeriodFaults(document: PackageDocument, fault: (field: string, reason: string) => void): void {
  const { periodNumMin, periodNumMax, dataType, duration, volume } = document
  if (periodNumMin === null && periodNumMax === null) return
  if (periodNumMin === null || periodNumMax === null) {
    const missing = periodNumMin === null ? 'periodNumMin' : 'periodNumMax'
    fault(missing, 'A day pass needs both periodNumMin and periodNumMax: add the missing one, or clear both.')
    return
  }
  if (periodNumMin > periodNumMax) fault('periodNumMax', 'periodNumMax is less than periodNumMin: swap the two.')
  if (dataType !== 'DAILY')
    fault('dataType', 'A day pass must be DAILY: change dataType, or clear periodNumMin and periodNumMax.')
  if (duration !== 1) fault('duration', 'Must be 1 for a day pass: each order says for how many days.')
  else if ((volume ?? 0) * periodNumMax > Number.MAX_SAFE_INTEGER) {
    fault(
      'volume',
      'Over periodNumMax days, that is more than an eSIM can report: enter fewer bytes a day, or fewer days.',
    )
  }
}

function hint(code: string): string {
  return code === 'UK' ? '; the United Kingdom is GB' : code === 'EL' ? '; Greece is GR' : ''
}

function isRecord(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
}

import type { PackageDocument } from '@dealer-esim/gateway/catalogue/packages/package-document.ts'
import { formatMoneyInput, parseMoneyInput } from '#parts/form-values.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage } from '#strings/strings.ts'
import { networksText, parseNetworks } from './networks.ts'

/** A package as its form holds it: values as typed. */
export interface TypedPackage {
  packageCode: string
  slug: string
  packageType: string
  productFamily: string
  name: string
  description: string
  status: string
  dataType: string
  volume: string
  volumeUnit: VolumeUnit
  duration: string
  isDayPass: boolean
  periodNumMin: string
  periodNumMax: string
  unusedValidTime: string
  activationPolicy: string
  ekycRequired: boolean
  locationCodes: string[]
  networks: string
  speed: string
  fupPolicy: string
  smsStatus: string
  allowLoss: boolean
  cancellable: boolean
  withinDays: string
  feePercent: string
  prices: TypedPrice[]
  suppliers: TypedSupplier[]
}

/** `id` identifies a row while it is edited. */
export interface TypedPrice {
  id: number
  currencyCode: string
  price: string
  retailPrice: string
}

export interface TypedSupplier {
  id: number
  supplier: string
  productCode: string
  costPrice: string
  costCurrency: string
}

/** Powers of 1024, as on the command line. */
export const VOLUME_UNITS = { B: 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 } as const
type VolumeUnit = keyof typeof VOLUME_UNITS

let lastId = 0
function newRowId(): number {
  lastId += 1
  return lastId
}

export const emptySupplier = (): TypedSupplier => ({
  ...{ id: newRowId(), supplier: '', productCode: '', costPrice: '', costCurrency: '' },
})
export const emptyPrice = (): TypedPrice => ({ id: newRowId(), currencyCode: '', price: '', retailPrice: '' })

/** The gateway's defaults for a new package. */
export function newPackage(): TypedPackage {
  return {
    ...{ packageCode: '', slug: '', packageType: 'BASE', productFamily: '', name: '', description: '' },
    ...{ status: 'OFF_SALE', dataType: 'TOTAL', volume: '1', volumeUnit: 'GB', duration: '7', isDayPass: false },
    ...{ periodNumMin: '1', periodNumMax: '30', unusedValidTime: '180', activationPolicy: 'ON_FIRST_NETWORK' },
    ...{ ekycRequired: false, locationCodes: [], networks: '', speed: '', fupPolicy: '', smsStatus: '0' },
    ...{ allowLoss: false, cancellable: false, withinDays: '', feePercent: '0' },
    ...{ prices: [emptyPrice()], suppliers: [emptySupplier()] },
  }
}

export function typedPackage(document: PackageDocument): TypedPackage {
  const { cancelPolicy, volume, periodNumMin, periodNumMax, prices, suppliers, locationNetworkList, ...rest } = document
  return {
    packageCode: rest.packageCode,
    slug: rest.slug,
    packageType: rest.packageType,
    productFamily: rest.productFamily ?? '',
    name: rest.name,
    description: rest.description ?? '',
    status: rest.status,
    dataType: rest.dataType,
    ...typedVolume(volume),
    duration: String(rest.duration),
    isDayPass: periodNumMin !== null,
    periodNumMin: String(periodNumMin ?? 1),
    periodNumMax: String(periodNumMax ?? 30),
    unusedValidTime: String(rest.unusedValidTime),
    activationPolicy: rest.activationPolicy,
    ekycRequired: rest.ekycRequired,
    locationCodes: [...rest.locationCodes],
    networks: networksText(locationNetworkList),
    speed: rest.speed ?? '',
    fupPolicy: rest.fupPolicy ?? '',
    smsStatus: String(rest.smsStatus),
    allowLoss: rest.allowLoss,
    cancellable: cancelPolicy.cancellable,
    withinDays: cancelPolicy.withinDays === null ? '' : String(cancelPolicy.withinDays),
    feePercent: String(cancelPolicy.feePercent),
    prices: prices.map(({ currencyCode, price, retailPrice }) => ({
      ...{ id: newRowId(), currencyCode, price: formatMoneyInput(price), retailPrice: formatMoneyInput(retailPrice) },
    })),
    suppliers: suppliers.map(({ supplier, productCode, costPrice, costCurrency }) => ({
      ...{ id: newRowId(), supplier, productCode, costPrice: formatMoneyInput(costPrice) },
      costCurrency: costCurrency ?? '',
    })),
  }
}

/** The largest unit in which the volume has at most two decimals. */
function typedVolume(volume: number | null): Pick<TypedPackage, 'volume' | 'volumeUnit'> {
  if (volume === null) return { volume: '', volumeUnit: 'GB' }
  const units = Object.keys(VOLUME_UNITS) as VolumeUnit[]
  const fits = (unit: VolumeUnit) =>
    volume >= VOLUME_UNITS[unit] && Number.isInteger((volume * 100) / VOLUME_UNITS[unit])
  const volumeUnit = units.findLast(fits) ?? 'B'
  return { volume: String(volume / VOLUME_UNITS[volumeUnit]), volumeUnit }
}

export type ParsedPackage = { members: Record<string, unknown> } | { errors: Record<string, string> }

/**
 * The members that differ from `before`, or all of a new package, as the gateway accepts them. Errors are by member, in the
 * gateway's notation, such as prices[0].price.
 */
export function parsePackage(typed: TypedPackage, before?: TypedPackage): ParsedPackage {
  const errors: Record<string, string> = {}
  const members = membersOf(typed, errors)
  if (Object.keys(errors).length > 0) return { errors }
  if (!before) return { members: { packageCode: typed.packageCode, ...members, prices: pricesOf(typed, [], errors) } }
  const old = membersOf(before, {})
  const changed = Object.fromEntries(Object.entries(members).filter(([name, value]) => !isEqual(value, old[name])))
  if (!isEqual(typed.prices.map(withoutId), before.prices.map(withoutId)))
    changed.prices = pricesOf(typed, before.prices, errors)
  // The gateway keeps the networks of remaining countries unless they were edited.
  return { members: changed }
}

function membersOf(typed: TypedPackage, errors: Record<string, string>): Record<string, unknown> {
  const count = (name: keyof TypedPackage & string, at: string = name): number | null => {
    const text = String(typed[name]).trim()
    if (text === '') return null
    if (/^\d{1,9}$/.test(text)) return Number(text)
    errors[at] = t.package.wholeNumber
    return null
  }
  const text = (value: string) => (value.trim() === '' ? null : value.trim())
  const networks = parseNetworks(typed.networks)
  if ('error' in networks) errors.locationNetworkList = networks.error
  pricesOf(typed, [], errors)
  return {
    ...(typed.slug.trim() !== '' && { slug: typed.slug.trim() }),
    packageType: typed.packageType,
    productFamily: text(typed.productFamily),
    name: typed.name.trim(),
    description: text(typed.description),
    status: typed.status,
    dataType: typed.dataType,
    volume: volumeOf(typed, errors),
    duration: typed.isDayPass ? 1 : count('duration'),
    periodNumMin: typed.isDayPass ? count('periodNumMin') : null,
    periodNumMax: typed.isDayPass ? count('periodNumMax') : null,
    unusedValidTime: count('unusedValidTime'),
    activationPolicy: typed.activationPolicy,
    ekycRequired: typed.ekycRequired,
    locationCodes: typed.locationCodes,
    ...('list' in networks && networks.list.length > 0 && { locationNetworkList: networks.list }),
    speed: text(typed.speed),
    fupPolicy: text(typed.fupPolicy),
    smsStatus: Number(typed.smsStatus),
    allowLoss: typed.allowLoss,
    cancelPolicy: {
      cancellable: typed.cancellable,
      withinDays: count('withinDays', 'cancelPolicy.withinDays'),
      feePercent: count('feePercent', 'cancelPolicy.feePercent') ?? 0,
    },
    suppliers: suppliersOf(typed, errors),
  }
}

function volumeOf({ dataType, volume, volumeUnit }: TypedPackage, errors: Record<string, string>): number | null {
  if (dataType === 'UNLIMITED' || volume.trim() === '') return null
  const amount = Number(volume.trim().replace(',', '.'))
  const bytes = Math.round(amount * VOLUME_UNITS[volumeUnit])
  if (Number.isSafeInteger(bytes) && bytes > 0) return bytes
  errors.volume = t.package.volumeInvalid
  return null
}

/** A currency that was removed has a price of null. */
function pricesOf(
  { prices }: TypedPackage,
  before: readonly TypedPrice[],
  errors: Record<string, string>,
): Record<string, unknown>[] {
  const amount = (typed: string, at: string): number | null => {
    if (typed.trim() === '') return null
    const read = parseMoneyInput(typed)
    if ('amount' in read) return read.amount
    errors[at] = read.error
    return null
  }
  const given = prices.filter(({ currencyCode, price }) => currencyCode.trim() !== '' || price.trim() !== '')
  const rows = given.map(({ currencyCode, price, retailPrice }, index) => {
    if (price.trim() === '') errors[`prices[${index}].price`] = t.package.priceMissing
    return {
      currencyCode: currencyCode.trim().toUpperCase(),
      price: amount(price, `prices[${index}].price`),
      retailPrice: amount(retailPrice, `prices[${index}].retailPrice`),
    }
  })
  const kept = new Set(rows.map(({ currencyCode }) => currencyCode))
  const removed = before.filter(({ currencyCode }) => !kept.has(currencyCode))
  return [...rows, ...removed.map(({ currencyCode }) => ({ currencyCode, price: null }))]
}

function suppliersOf({ suppliers }: TypedPackage, errors: Record<string, string>) {
  const given = suppliers.filter(({ supplier, productCode }) => supplier !== '' || productCode.trim() !== '')
  return given.map(({ supplier, productCode, costPrice, costCurrency }, index) => {
    const read = costPrice.trim() === '' ? { amount: null } : parseMoneyInput(costPrice)
    if ('error' in read) errors[`suppliers[${index}].costPrice`] = read.error
    return {
      ...{ supplier, productCode: productCode.trim(), costPrice: 'amount' in read ? read.amount : null },
      costCurrency: costCurrency.trim() === '' ? null : costCurrency.trim().toUpperCase(),
    }
  })
}

function withoutId<Row extends { id: number }>({ id: _, ...row }: Row) {
  return row
}

function isEqual(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

/** True if something typed has not been saved. */
export function differs(a: TypedPackage, b: TypedPackage): boolean {
  const plain = (typed: TypedPackage) => ({
    ...typed,
    ...{ prices: typed.prices.map(withoutId), suppliers: typed.suppliers.map(withoutId) },
  })
  return !isEqual(plain(a), plain(b))
}

/** The error for a member, or the first error in a part that has no input of its own. */
export function errorAt(errors: Record<string, string>, member: string): string | undefined {
  const part = Object.keys(errors).find((name) => name === member || name.startsWith(`${member}[`))
  if (part === undefined) return undefined
  const number = /\[(\d+)\]/.exec(part)?.[1]
  return number === undefined || part === member
    ? errors[part]
    : formatMessage(t.package.entry, { number: Number(number) + 1, reason: errors[part] ?? '' })
}

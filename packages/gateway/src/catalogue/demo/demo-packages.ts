import type { LocationNetwork } from '@dealer-esim/contract'
import { countries } from 'countries-list'
import { countryName } from '../coverage.ts'
import type { PackageDocument } from '../packages/package-document.ts'
import { DESTINATIONS, POPULAR, REGIONS } from './destinations.ts'

/** A package size, which determines the package's code and price. */
interface Size {
  /** Part of the package code: gigabytes, D and gigabytes a day, or U for unlimited. */
  readonly code: string
  readonly name: string
  readonly dataType: PackageDocument['dataType']
  readonly gigabytes: number | null
  readonly days: number
  /** The allowed numbers of days for ordering a day pass. */
  readonly periodNum?: { readonly min: number; readonly max: number }
  /** The price relative to that of 1 GB for a week, as a percentage. */
  readonly percent: number
}

const total = (gigabytes: number, days: number, percent: number): Size => ({
  ...{ code: String(gigabytes), name: `${gigabytes} GB`, dataType: 'TOTAL', gigabytes, days, percent },
})
const daily = (gigabytes: number, days: number, percent: number): Size => ({
  ...{ code: `D${gigabytes}`, name: `${gigabytes} GB a day`, dataType: 'DAILY', gigabytes, days, percent },
})
const unlimited = (days: number, percent: number): Size => ({
  ...{ code: 'U', name: 'unlimited', dataType: 'UNLIMITED', gigabytes: null, days, percent },
})

const dayPass = (gigabytes: number, min: number, percent: number): Size => ({
  ...{ code: 'DAY', name: `day pass, ${gigabytes} GB a day`, dataType: 'DAILY', gigabytes, days: 1, percent },
  periodNum: { min, max: 30 },
})

const USUAL = [total(1, 7, 100), total(3, 30, 240), total(5, 30, 360), total(10, 30, 600)]
const MORE = [
  total(20, 30, 1_000),
  daily(1, 7, 420),
  daily(2, 15, 1_250),
  unlimited(7, 640),
  unlimited(15, 1_180),
  dayPass(1, 1, 70),
]
const WIDE = [total(1, 7, 100), total(5, 30, 380), total(10, 30, 680), total(20, 60, 1_200), dayPass(1, 3, 75)]
/** Sizes that are also sold as top-ups: each kind of data volume has at least one. */
const TOP_UPS: readonly string[] = ['1_7', '5_30', 'U_7', 'DAY_1']

interface Territory {
  readonly code: string
  readonly name: string
  readonly locationCodes: readonly string[]
  readonly countries: readonly string[]
  readonly cents: number
  readonly sizes: readonly Size[]
}

/** Demo packages can be cancelled without a fee; sandbox packages show other policies. */
const CANCELLABLE: PackageDocument['cancelPolicy'] = { cancellable: true, withinDays: null, feePercent: 0 }
const NOT_CANCELLABLE: PackageDocument['cancelPolicy'] = { cancellable: false, withinDays: null, feePercent: 0 }

/**
 * The demo catalogue: over a hundred countries, regions and the world. Every call returns the same packages, so that
 * documentation and tests can name them. All are sold by the sandbox supplier.
 */
export function demoPackages(): PackageDocument[] {
  return territories().flatMap((territory) => {
    const networks = territory.countries.map(networkOf)
    return territory.sizes.flatMap((size) => {
      const base = packageOf(territory, size, networks)
      return TOP_UPS.includes(sizeCode(size)) ? [base, topUpOf(base)] : [base]
    })
  })
}

function territories(): Territory[] {
  const single = Object.entries(DESTINATIONS).map(([code, [cents]]) => ({
    ...{ code, cents, name: countryName(code), locationCodes: [code], countries: [code] },
    sizes: POPULAR.includes(code) ? [...USUAL, ...MORE] : USUAL,
  }))
  const wide = REGIONS.map(({ code, name, cents, marker, countries }) => ({
    ...{ code, cents, name, locationCodes: [marker, ...countries], countries },
    sizes: WIDE,
  }))
  return [...single, ...wide]
}

function networkOf(code: string): LocationNetwork {
  const operators = DESTINATIONS[code]![1].split(', ').map((operator) => {
    const cut = operator.lastIndexOf(' ')
    return { operatorName: operator.slice(0, cut), networkType: operator.slice(cut + 1) }
  })
  return { locationCode: code, locationName: countryName(code), operatorList: operators }
}

const GIGABYTE = 1_073_741_824

function packageOf(territory: Territory, size: Size, networks: LocationNetwork[]): PackageDocument {
  const packageCode = `${territory.code}_${size.periodNum ? size.code : sizeCode(size)}`
  const cents = roundUp((territory.cents * size.percent) / 100, 10)
  const name = [territory.name, size.name, ...(size.periodNum ? [] : [`${size.days} days`])].join(', ')
  const fast = networks.some((network) => network.operatorList.some((operator) => operator.networkType === '5G'))
  return {
    packageCode,
    slug: name.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
    packageType: 'BASE',
    productFamily: null,
    name,
    description: describe(territory, size),
    status: 'ON_SALE',
    dataType: size.dataType,
    volume: size.gigabytes === null ? null : size.gigabytes * GIGABYTE,
    duration: size.days,
    durationUnit: 'DAY',
    periodNumMin: size.periodNum?.min ?? null,
    periodNumMax: size.periodNum?.max ?? null,
    unusedValidTime: 180,
    activationPolicy: size.dataType === 'UNLIMITED' ? 'ON_INSTALL' : 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationCodes: [...territory.locationCodes],
    locationNetworkList: networks,
    speed: fast ? '5G' : '4G',
    fupPolicy: FAIR_USE[size.dataType],
    smsStatus: 0,
    allowLoss: false,
    cancelPolicy: CANCELLABLE,
    prices: pricesOf(territory, cents),
    suppliers: [
      { supplier: 'sandbox', productCode: packageCode, costPrice: Math.round(cents * 60), costCurrency: 'USD' },
    ],
  }
}

function sizeCode({ code, days }: Size): string {
  return `${code}_${days}`
}

/** The same volume and days at the same price, for an existing eSIM. */
function topUpOf(base: PackageDocument): PackageDocument {
  const packageCode = `${base.packageCode}_TOPUP`
  return {
    ...base,
    packageCode,
    packageType: 'TOPUP',
    slug: `${base.slug}-top-up`,
    name: `${base.name}: top-up`,
    description: 'Adds volume and days to an eSIM with the same coverage. A product of the sandbox.',
    cancelPolicy: NOT_CANCELLABLE,
    suppliers: base.suppliers.map((supplier) => ({ ...supplier, productCode: packageCode })),
  }
}

const FAIR_USE: Record<PackageDocument['dataType'], string | null> = {
  TOTAL: null,
  DAILY: 'When the volume of a day is used up, the speed is 384 kbit/s until the next day begins (00:00 UTC).',
  UNLIMITED: 'Above 3 GB on one day, the speed is 5 Mbit/s until the next day begins (00:00 UTC).',
}

function describe({ name, countries: covered }: Territory, size: Size): string {
  const where = covered.length === 1 ? name : `${covered.length} countries`
  const days = size.periodNum ? `${size.periodNum.min} to ${size.periodNum.max}` : size.days
  return `Data only: ${size.name} in ${where} for ${days} days. A profile of the sandbox, not a real eSIM.`
}

/** Prices in dollars, and also in euros if the package covers several countries or one that uses the euro. */
function pricesOf({ countries: covered }: Territory, cents: number): PackageDocument['prices'] {
  const usd = { currencyCode: 'USD', price: cents * 100, retailPrice: (roundUp(cents * 1.6, 50) - 1) * 100 }
  const european = covered.some((code) => countries[code as keyof typeof countries].currency.some((c) => c === 'EUR'))
  if (!european && covered.length === 1) return [usd]
  const euroCents = roundUp(cents * 0.92, 10)
  const eur = { currencyCode: 'EUR', price: euroCents * 100, retailPrice: (roundUp(euroCents * 1.6, 50) - 1) * 100 }
  return [eur, usd]
}

function roundUp(value: number, step: number): number {
  return Math.ceil(Math.round(value * 100) / 100 / step) * step
}

/** A sandbox package: its product code decides how the supplier behaves. */
interface Behaviour {
  readonly name: string
  readonly description: string
  /** The package's own code by default. */
  readonly productCode?: string
  readonly packageType?: 'TOPUP'
  readonly cancelPolicy?: PackageDocument['cancelPolicy']
}

/** Packages with which a developer at a dealer can test every state of an order, a top-up and an action. */
const BEHAVIOURS: Readonly<Record<string, Behaviour>> = {
  SANDBOX_OK: { name: 'delivers', description: 'Delivers immediately: the order ends DELIVERED.' },
  SANDBOX_REFUSED: {
    name: 'refuses',
    description: 'Refuses every eSIM: the order ends FAILED and is refunded in full.',
  },
  SANDBOX_PARTIAL: {
    name: 'delivers a part',
    description: 'Refuses some of the eSIMs: the order ends PARTIALLY_DELIVERED. Order two or more.',
  },
  SANDBOX_SLOW: {
    name: 'is slow',
    description: 'Delivers after a delay: the order stays ALLOCATING until then.',
  },
  SANDBOX_UNKNOWN: { name: 'does not say', description: 'Does not report the outcome: the order goes UNDER_REVIEW.' },
  SANDBOX_OUT_OF_STOCK: { name: 'is sold out', description: 'Has no eSIM left: the order is refused with 200011.' },
  SANDBOX_USAGE: {
    name: 'is used',
    description: 'Comes into use after a few seconds and uses up its volume within a minute, sending every event.',
  },
  SANDBOX_CANCEL_FEE: {
    name: 'is cancelled for a fee',
    description: 'Can be cancelled for 14 days at a fee of 10 percent.',
    cancelPolicy: { cancellable: true, withinDays: 14, feePercent: 10 },
  },
  SANDBOX_NOT_CANCELLABLE: {
    name: 'cannot be cancelled',
    description: 'Cannot be cancelled: esim/cancel is refused with 200017.',
    cancelPolicy: NOT_CANCELLABLE,
  },
  SANDBOX_ACTION_REFUSED: {
    name: 'refuses actions',
    description: 'Delivers, and refuses every action on the eSIM: the action ends REFUSED.',
  },
  SANDBOX_ACTION_UNKNOWN: {
    name: 'does not answer actions',
    description: 'Delivers, and never answers an action on the eSIM: the action goes UNDER_REVIEW.',
  },
  SANDBOX_TOPUP: {
    name: 'tops up',
    description: 'Tops up immediately: the order ends DELIVERED.',
    packageType: 'TOPUP',
  },
  SANDBOX_TOPUP_REFUSED: {
    name: 'refuses a top-up',
    description: 'Refuses the top-up: the order ends FAILED and is refunded.',
    packageType: 'TOPUP',
    productCode: 'SANDBOX_REFUSED',
  },
  SANDBOX_TOPUP_SLOW: {
    name: 'tops up slowly',
    description: 'Tops up after a delay: the order stays ALLOCATING until then.',
    packageType: 'TOPUP',
    productCode: 'SANDBOX_SLOW',
  },
  SANDBOX_TOPUP_UNKNOWN: {
    name: 'does not answer a top-up',
    description: 'Does not report the outcome of the top-up: the order goes UNDER_REVIEW.',
    packageType: 'TOPUP',
    productCode: 'SANDBOX_UNKNOWN',
  },
}

/** Antarctica, so that these packages do not appear in lists for other countries. */
const LOCATION = 'AQ'

export function sandboxPackages(): PackageDocument[] {
  return Object.entries(BEHAVIOURS).map(([packageCode, behaviour]) => ({
    packageCode,
    slug: packageCode.toLowerCase().replaceAll('_', '-'),
    packageType: behaviour.packageType ?? 'BASE',
    productFamily: null,
    name: `Sandbox: ${behaviour.name}`,
    description: behaviour.description,
    status: 'ON_SALE',
    dataType: 'TOTAL',
    volume: GIGABYTE,
    duration: 7,
    durationUnit: 'DAY',
    periodNumMin: null,
    periodNumMax: null,
    unusedValidTime: 180,
    activationPolicy: 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationCodes: [LOCATION],
    locationNetworkList: [{ locationCode: LOCATION, locationName: countryName(LOCATION), operatorList: [] }],
    speed: null,
    fupPolicy: null,
    smsStatus: 0,
    allowLoss: false,
    cancelPolicy: behaviour.cancelPolicy ?? (behaviour.packageType === 'TOPUP' ? NOT_CANCELLABLE : CANCELLABLE),
    prices: [
      { currencyCode: 'EUR', price: 10_000, retailPrice: null },
      { currencyCode: 'USD', price: 10_000, retailPrice: null },
    ],
    suppliers: [
      {
        supplier: 'sandbox',
        productCode: behaviour.productCode ?? packageCode,
        costPrice: null,
        costCurrency: null,
      },
    ],
  }))
}

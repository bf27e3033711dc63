import type { LocationNetwork } from '@dealer-esim/contract'
import { countries } from 'countries-list'
import { countryName } from '../coverage.ts'
import type { PackageDocument } from '../packages/document.ts'
import { DESTINATIONS, POPULAR, REGIONS } from './destinations.ts'

/** A size of package, from which its code and price follow. */
interface Size {
  /** Part of the package code: gigabytes, D and gigabytes a day, or U for unlimited. */
  readonly code: string
  readonly name: string
  readonly dataType: PackageDocument['dataType']
  readonly gigabytes: number | null
  readonly days: number
  /** The price as a percentage of that of 1 GB for a week. */
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

const USUAL = [total(1, 7, 100), total(3, 30, 240), total(5, 30, 360), total(10, 30, 600)]
const MORE = [total(20, 30, 1_000), daily(1, 7, 420), daily(2, 15, 1_250), unlimited(7, 640), unlimited(15, 1_180)]
const WIDE = [total(1, 7, 100), total(5, 30, 380), total(10, 30, 680), total(20, 60, 1_200)]

interface Territory {
  readonly code: string
  readonly name: string
  readonly locationCodes: readonly string[]
  readonly countries: readonly string[]
  readonly cents: number
  readonly sizes: readonly Size[]
}

/**
 * The demo catalogue: over a hundred countries, regions and the world. Every call returns the same packages, so that
 * documentation and tests can name them. All are sold by the sandbox supplier.
 */
export function demoPackages(): PackageDocument[] {
  return territories().flatMap((territory) => {
    const networks = territory.countries.map(networkOf)
    return territory.sizes.map((size) => packageOf(territory, size, networks))
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
  const packageCode = `${territory.code}_${size.code}_${size.days}`
  const cents = roundUp((territory.cents * size.percent) / 100, 10)
  const fast = networks.some((network) => network.operatorList.some((operator) => operator.networkType === '5G'))
  return {
    packageCode,
    slug: `${territory.name} ${size.name} ${size.days} days`.toLowerCase().replace(/[^a-z0-9]+/g, '-'),
    name: `${territory.name}, ${size.name}, ${size.days} days`,
    description: describe(territory, size),
    status: 'ON_SALE',
    dataType: size.dataType,
    volume: size.gigabytes === null ? null : size.gigabytes * GIGABYTE,
    duration: size.days,
    durationUnit: 'DAY',
    unusedValidTime: 180,
    activationPolicy: size.dataType === 'UNLIMITED' ? 'ON_INSTALL' : 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationCodes: [...territory.locationCodes],
    locationNetworkList: networks,
    speed: fast ? '5G' : '4G',
    fupPolicy: FAIR_USE[size.dataType],
    smsStatus: 0,
    allowLoss: false,
    prices: pricesOf(territory, cents),
    suppliers: [
      { supplier: 'sandbox', productCode: packageCode, costPrice: Math.round(cents * 60), costCurrency: 'USD' },
    ],
  }
}

const FAIR_USE: Record<PackageDocument['dataType'], string | null> = {
  TOTAL: null,
  DAILY: 'When the volume of a day is used up, the speed is 384 kbit/s until the next day begins (00:00 UTC).',
  UNLIMITED: 'Above 3 GB on one day, the speed is 5 Mbit/s until the next day begins (00:00 UTC).',
}

function describe({ name, countries: covered }: Territory, size: Size): string {
  const where = covered.length === 1 ? name : `${covered.length} countries`
  return `Data only: ${size.name} in ${where} for ${size.days} days. A profile of the sandbox, not a real eSIM.`
}

/** Prices in dollars, and in euros for several countries or one that uses them. */
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

/**
 * Packages with which a dealer's developer can test every state of an order. Their product codes instruct the sandbox supplier
 * how to behave.
 */
const BEHAVIOURS: Readonly<Record<string, readonly [name: string, description: string]>> = {
  SANDBOX_OK: ['delivers', 'Delivers immediately: the order ends DELIVERED.'],
  SANDBOX_REFUSED: ['refuses', 'Refuses every eSIM: the order ends FAILED and is refunded whole.'],
  SANDBOX_PARTIAL: [
    'delivers a part',
    'Refuses some of the eSIMs: the order ends PARTIALLY_DELIVERED. Order two or more.',
  ],
  SANDBOX_SLOW: ['is slow', 'Delivers after some time: the order stays ALLOCATING until then.'],
  SANDBOX_UNKNOWN: ['does not say', 'Leaves the outcome open: the order goes UNDER_REVIEW.'],
  SANDBOX_OUT_OF_STOCK: ['is sold out', 'Has no eSIM left: the order is refused with 200011.'],
}

/** Antarctica, so that these packages do not appear in lists for other countries. */
const LOCATION = 'AQ'

export function sandboxPackages(): PackageDocument[] {
  return Object.entries(BEHAVIOURS).map(([packageCode, [name, description]]) => ({
    packageCode,
    slug: packageCode.toLowerCase().replaceAll('_', '-'),
    name: `Sandbox: ${name}`,
    description,
    status: 'ON_SALE',
    dataType: 'TOTAL',
    volume: 1_073_741_824,
    duration: 7,
    durationUnit: 'DAY',
    unusedValidTime: 180,
    activationPolicy: 'ON_FIRST_NETWORK',
    ekycRequired: false,
    locationCodes: [LOCATION],
    locationNetworkList: [{ locationCode: LOCATION, locationName: countryName(LOCATION), operatorList: [] }],
    speed: null,
    fupPolicy: null,
    smsStatus: 0,
    allowLoss: false,
    prices: [
      { currencyCode: 'EUR', price: 10_000, retailPrice: null },
      { currencyCode: 'USD', price: 10_000, retailPrice: null },
    ],
    suppliers: [{ supplier: 'sandbox', productCode: packageCode, costPrice: null, costCurrency: null }],
  }))
}

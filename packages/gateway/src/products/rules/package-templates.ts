import { createHash } from 'node:crypto'
import { NAME_LENGTH_MAX, readVolume, volumeText } from '@dealer-esim/contract'
import type { SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { invalidField } from '#catalogue/catalogue-checks.ts'
import { placeOf, REGION } from './place-name.ts'

/** A product and the supplier that sells it. */
export interface OfferedProduct extends SupplierProduct {
  supplier: string
}

export const NAME_DEFAULT = '{place} {data} {days}'
export const CODE_DEFAULT = '{area}_{data}_{days}{topup}'

const MEMBERS = ['place', 'area', 'data', 'days', 'topup', 'name', 'supplier', 'product'] as const
type Member = (typeof MEMBERS)[number]

/** @throws Refusal that names an unknown placeholder */
export function checkTemplate(field: string, template: string): void {
  const unknown = [...template.matchAll(/\{([^{}]*)\}/g)].find(([, name]) => !MEMBERS.includes(name as Member))
  if (unknown) {
    const known = MEMBERS.map((name) => `{${name}}`).join(', ')
    throw invalidField(field, `${unknown[0]} is unknown: use ${known}.`)
  }
}

/** A package's name: `Japan 1 GB 7 days`; for a day pass, `Japan 1 GB/day`. */
export function nameOf(template: string, product: OfferedProduct): string {
  const { countries, volume, isDayPass, durationDays, packageType, name, supplier, productCode } = product
  const values: Record<Member, string> = {
    place: placeOf(product),
    area: areaOf(countries),
    data: `${volume === null ? 'Unlimited' : volumeText(readVolume(volume))}${isDayPass ? '/day' : ''}`,
    days: isDayPass ? '' : durationDays === 1 ? '1 day' : `${durationDays} days`,
    topup: packageType === 'TOPUP' ? ' top-up' : '',
    ...{ name, supplier, product: productCode },
  }
  return filled(template, values).replaceAll(/ +/g, ' ').trim().slice(0, NAME_LENGTH)
}
const NAME_LENGTH = 200

/** A package's code: `JP_1GB_7`. Products with the same code are sold as one package. */
export function codeOf(template: string, product: OfferedProduct): string {
  const { countries, volume, isDayPass, durationDays, packageType, name, supplier, productCode } = product
  const values: Record<Member, string> = {
    place: countries.map((code) => (isRegion(code) ? labelOf(code) : code)).join('-'),
    area: areaOf(countries),
    data: volume === null ? 'UNL' : `${sizeOf(volume)}${isDayPass ? '-DAY' : ''}`,
    days: isDayPass ? 'PASS' : String(durationDays),
    topup: packageType === 'TOPUP' ? '_TOPUP' : '',
    ...{ name, supplier, product: productCode },
  }
  const code = filled(template, values).replace(/[^A-Za-z0-9_.:-]+/g, '-')
  if (code.length <= NAME_LENGTH_MAX) return code
  // The hash keeps the codes of different texts distinct.
  return `${code.slice(0, NAME_LENGTH_MAX - HASH_LENGTH - 1)}-${hashOf(code)}`
}

function filled(template: string, values: Record<Member, string>): string {
  return template.replace(/\{([^{}]*)\}/g, (_, name: Member) => values[name])
}

/** The code of one country, or the label of a region; for several of them, R and a hash. */
function areaOf(countries: readonly string[]): string {
  const [only, ...others] = countries
  if (others.length > 0) return `R${hashOf(countries.join())}`
  return isRegion(only!) ? labelOf(only!) : only!
}

export function isRegion(code: string): boolean {
  return code.startsWith(REGION)
}

/** `RG-WESTERN-EUROPE` */
function labelOf(region: string): string {
  return region
    .slice(1)
    .replace(/[^A-Za-z0-9]+/g, '-')
    .toUpperCase()
}

const HASH_LENGTH = 8

function hashOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, HASH_LENGTH).toUpperCase()
}

/**
 * The size as which a volume is sold, exact and without a decimal point, for codes. 1 GB may be 10^9 or 2^30 bytes, because
 * suppliers use either.
 */
export function sizeOf(volume: bigint): string {
  for (const [unit, decimal, binary] of UNITS) {
    for (const size of [binary, decimal]) if (volume % size === 0n) return `${volume / size}${unit}`
  }
  return `${volume}B`
}

const UNITS: readonly [unit: string, decimal: bigint, binary: bigint][] = [
  ['GB', 1_000_000_000n, 1_073_741_824n],
  ['MB', 1_000_000n, 1_048_576n],
  ['KB', 1_000n, 1_024n],
]

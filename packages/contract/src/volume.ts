/** A volume in readable units: `{value: 5, unit: 'GB'}`. */
export interface ReadableVolume {
  /** At most one decimal. */
  value: number
  unit: (typeof UNITS)[number]
}

const UNITS = ['B', 'KB', 'MB', 'GB', 'TB'] as const

/**
 * The value and unit in which people read a number of bytes. Wholesalers count a gigabyte as 10^9 or as 2^30 bytes, so 5 GB
 * is 5 000 000 000 or 5 368 709 120 bytes: whichever gives a round number is used. 1 536 MB becomes 1.5 GB; 1 280 MB stays
 * 1 280 MB.
 */
export function readVolume(bytes: number | bigint): ReadableVolume {
  const count = Number(bytes)
  const base = baseOf(count)
  const exact = UNITS.map((unit, power) => ({ value: count / base ** power, unit })).filter(
    ({ value }) => value >= 1 && Number.isInteger(value * 10),
  )
  const largest = exact.at(-1)
  return largest !== undefined && (largest.unit !== 'B' || count < base) ? largest : rounded(count, base)
}

/** The used or remaining part of a total, in the same units as its total: `{value: 4.7, unit: 'GB'}` of 5 GB. */
export function readPartOf(total: number | bigint | null, bytes: number | bigint): ReadableVolume {
  if (total !== null && Number(bytes) === 0) return { value: 0, unit: readVolume(total).unit }
  return rounded(Number(bytes), baseOf(Number(total ?? bytes)))
}

function rounded(count: number, base: number): ReadableVolume {
  let power = 0
  while (power < UNITS.length - 1 && count >= base ** (power + 1)) power++
  return { value: Math.round((count / base ** power) * 10) / 10, unit: UNITS[power]! }
}

/** 1000 or 1024. Bytes that are round in neither come from a meter, which counts in powers of ten. */
function baseOf(bytes: number): number {
  for (const power of [3, 2, 1]) for (const base of [1000, 1024]) if (bytes % base ** power === 0) return base
  return 1000
}

/** `5 GB`. */
export function volumeText({ value, unit }: ReadableVolume): string {
  return `${value} ${unit}`
}

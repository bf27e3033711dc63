const UNITS: Readonly<Record<string, number>> = { '': 1, KB: 1024, MB: 1024 ** 2, GB: 1024 ** 3, TB: 1024 ** 4 }

/** The bytes of a size such as 500MB, 1.5 GB or 1073741824; undefined for any other text. Units are powers of 1024. */
export function parseVolume(text: string): number | undefined {
  const [, digits, unit = ''] = /^(\d{1,16}(?:\.\d{1,9})?) ?([KMGT]B)?$/i.exec(text) ?? []
  const bytes = Number(digits) * UNITS[unit.toUpperCase()]!
  return Number.isSafeInteger(bytes) ? bytes : undefined
}

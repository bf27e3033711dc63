import { t } from '#strings/strings.ts'

/**
 * The parts of a package's title, such as `Japan`, `5 GB`, `3 days`. A single part is a name that somebody typed,
 * unchanged.
 */
export interface PackageTitle {
  parts: readonly string[]
  /** The first part is a place. */
  hasPlace: boolean
}

/**
 * Splits a name in the form that sale rules and imports write, such as “Japan 5 GB 3 days” or “Japan, 2 GB a day, 3 days:
 * top-up”: place, volume, days. Any other name is an operator's own and stays whole.
 */
export function packageTitle(name: string): PackageTitle {
  const words = name.split(/[\s,:]+/)
  const at = words.findIndex((word, index) => index > 0 && isVolume(word, words[index + 1] ?? ''))
  const rest = at === -1 ? undefined : readTerms(words.slice(at))
  if (rest === undefined) return { parts: [name], hasPlace: false }
  const start = name.slice(0, indexOfWord(name, at))
  return { parts: [start.replace(DAY_PASS, ''), ...rest], hasPlace: true }
}

/** Left out of the title, because the volume (2 GB/day) already shows that it is a day pass. */
const DAY_PASS = /, day pass$/

/** The title as text: `Japan · 5 GB · 3 days`. */
export function packageTitleText(name: string): string {
  return packageTitle(name).parts.join(' · ')
}

/** The title of an order: its first package, and the number of others. */
export function packagesTitleText([first = '', ...others]: readonly string[]): string {
  return others.length === 0 ? packageTitleText(first) : `${packageTitleText(first)} + ${others.length}`
}

/** The location of a package with these codes: its only country, !RG or !GL. */
export function locationOf(locationCodes: readonly string[]): string {
  if (locationCodes.includes('!GL')) return '!GL'
  const [only, ...others] = locationCodes
  return only === undefined || others.length > 0 ? '!RG' : only
}

function isVolume(word: string, next: string): boolean {
  return (
    /^unlimited(\/day)?$/i.test(word) || (/^\d{1,6}(\.\d{1,2})?$/.test(word) && /^(KB|MB|GB|TB)(\/day)?$/.test(next))
  )
}

/** @returns undefined if there is anything that is no volume or time */
function readTerms(words: string[]): string[] | undefined {
  const text = words.join(' ').toLowerCase()
  const found = TERMS.exec(text)
  if (!found?.groups) return undefined
  const { volume = '', daily, days, topUp } = found.groups
  const amount = volume === 'unlimited' ? t.portal.unlimited : volume.toUpperCase()
  return [daily ? `${amount}/day` : amount, ...(days ? [days] : []), ...(topUp ? ['top-up'] : [])]
}
const TERMS =
  /^(?<volume>unlimited|\d{1,6}(?:\.\d{1,2})? (?:kb|mb|gb|tb))(?<daily>\/day| a day)?(?: (?<days>\d{1,4} days?))?(?: day pass)?(?: (?<topUp>top-up))?$/

function indexOfWord(name: string, at: number): number {
  let index = 0
  for (const word of name.split(/[\s,:]+/).slice(0, at)) index = name.indexOf(word, index) + word.length
  return index
}

import type { PackageDocument } from '@dealer-esim/gateway/catalogue/packages/package-document.ts'
import { interpolate, locale, t } from '#strings/strings.ts'

type Networks = PackageDocument['locationNetworkList']

const english = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })
const local = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })

/** One line a country: `JP Japan: NTT DOCOMO (5G); SoftBank (LTE)`. */
export function networksText(networks: Networks): string {
  return networks
    .map(({ locationCode, locationName, operatorList }) => {
      const operators = operatorList.map(({ operatorName, networkType }) => `${operatorName} (${networkType})`)
      return `${locationCode} ${locationName}: ${operators.join('; ')}`.trimEnd()
    })
    .join('\n')
}

/** The reverse. The name of a country may be left out. The error names its line. */
export function parseNetworks(text: string): { list: Networks } | { error: string } {
  const list: Networks = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const read = parseLine(line.trim())
    if (!read) return { error: interpolate(t.package.networkLine, { line: index + 1 }) }
    list.push(read)
  }
  return { list }
}

function parseLine(line: string): Networks[number] | undefined {
  const [, code = '', name = '', rest = ''] = /^([A-Za-z]{2})(?:\s+([^:]*?))?\s*:(.*)$/.exec(line) ?? []
  if (code === '') return undefined
  const parts = rest.split(';').map((part) => part.trim())
  const operators = parts.filter(Boolean).map((part) => /^(.+?)\s*\(([^()]+)\)$/.exec(part))
  if (operators.includes(null)) return undefined
  const locationCode = code.toUpperCase()
  return {
    locationCode,
    locationName: name || (english.of(locationCode) ?? locationCode),
    operatorList: operators.map((found) => ({ operatorName: found?.[1] ?? '', networkType: found?.[2] ?? '' })),
  }
}

const LETTERS = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index))

/** Every code that the browser knows a name for, and the two wide locations; by name. */
export function locationChoices(): { value: string; label: string }[] {
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second))
  const named = codes.flatMap((value) => {
    const name = local.of(value)
    return name === undefined || name === value
      ? []
      : [{ value, label: interpolate(t.package.withCode, { name, code: value }) }]
  })
  named.sort((a, b) => a.label.localeCompare(b.label, locale))
  return [
    { value: '!RG', label: interpolate(t.package.withCode, { name: t.catalogue.regional, code: '!RG' }) },
    { value: '!GL', label: interpolate(t.package.withCode, { name: t.catalogue.global, code: '!GL' }) },
    ...named,
  ]
}

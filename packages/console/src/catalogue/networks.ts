import type { PackageDocument } from '@dealer-esim/gateway/catalogue/packages/package-document.ts'
import { t } from '#strings/page-texts.ts'
import { formatMessage, locale } from '#strings/strings.ts'

type Networks = PackageDocument['locationNetworkList']

const english = new Intl.DisplayNames('en', { type: 'region', fallback: 'code' })
const local = new Intl.DisplayNames(locale, { type: 'region', fallback: 'code' })

/** One line per country: `JP Japan: NTT DOCOMO (5G); SoftBank (LTE)`. */
export function networksText(networks: Networks): string {
  return networks
    .map(({ locationCode, locationName, operatorList }) => {
      const operators = operatorList.map(({ operatorName, networkType }) => `${operatorName} (${networkType})`)
      return `${locationCode} ${locationName}: ${operators.join('; ')}`.trimEnd()
    })
    .join('\n')
}

/** The reverse. The country name is optional. An error names its line. */
export function parseNetworks(text: string): { list: Networks } | { error: string } {
  const list: Networks = []
  for (const [index, line] of text.split('\n').entries()) {
    if (line.trim() === '') continue
    const read = parseLine(line.trim())
    if (!read) return { error: formatMessage(t.package.networkLine, { line: index + 1 }) }
    list.push(read)
  }
  return { list }
}

function parseLine(line: string): Networks[number] | undefined {
  const colon = line.indexOf(':')
  const head = line.slice(0, colon)
  if (colon < 0 || !/^[A-Za-z]{2}(?!\S)/.test(head)) return undefined
  const parts = line.slice(colon + 1).split(';')
  const operators = parts.map((part) => part.trim()).filter(Boolean)
  const operatorList = operators.map(parseOperator).filter((operator) => operator !== undefined)
  if (operatorList.length < operators.length) return undefined
  const locationCode = head.slice(0, 2).toUpperCase()
  const name = head.slice(2).trim()
  return { locationCode, locationName: name || (english.of(locationCode) ?? locationCode), operatorList }
}

/** Reads `NTT Docomo (5G)`. */
function parseOperator(text: string): Networks[number]['operatorList'][number] | undefined {
  const open = text.lastIndexOf('(')
  const operatorName = text.slice(0, Math.max(open, 0)).trim()
  const networkType = text.slice(open + 1, -1)
  if (!text.endsWith(')') || operatorName === '' || networkType === '' || networkType.includes(')')) return undefined
  return { operatorName, networkType }
}

const LETTERS = Array.from({ length: 26 }, (_, index) => String.fromCharCode(65 + index))

/** Every code that the browser has a name for, and the two wide locations, sorted by name. */
export function locationChoices(): { value: string; label: string }[] {
  const codes = LETTERS.flatMap((first) => LETTERS.map((second) => first + second))
  const named = codes.flatMap((value) => {
    const name = local.of(value)
    return name === undefined || name === value
      ? []
      : [{ value, label: formatMessage(t.package.withCode, { name, code: value }) }]
  })
  named.sort((a, b) => a.label.localeCompare(b.label, locale))
  return [
    { value: '!RG', label: formatMessage(t.package.withCode, { name: t.catalogue.regional, code: '!RG' }) },
    { value: '!GL', label: formatMessage(t.package.withCode, { name: t.catalogue.global, code: '!GL' }) },
    ...named,
  ]
}

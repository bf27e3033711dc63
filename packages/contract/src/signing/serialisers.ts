/**
 * The same JSON as written by the serialisers of common languages, each text once; empty if it is not JSON, or is nested
 * too deeply for the stack. If several serialisers write the same text, it is named after the plainest form.
 */
export function otherSpellings(text: string): [form: string, body: string][] {
  try {
    const value: unknown = JSON.parse(text)
    const byText = new Map<string, string>()
    for (const [form, layout, rewrite = asIs] of SERIALISERS) {
      const body = rewrite(layout(value))
      if (!byText.has(body)) byText.set(body, form)
    }
    return [...byText].map(([body, form]) => [form, body])
  } catch {
    return []
  }
}

type Layout = (value: unknown) => string
type Escape = (json: string) => string

const compact: Layout = (value) => JSON.stringify(value)
const compactSorted: Layout = (value) => JSON.stringify(sorted(value))
const spacedSorted: Layout = (value) => spaced(sorted(value))
const indented =
  (by: number | string, lineBreak = '\n'): Layout =>
  (value) =>
    JSON.stringify(value, null, by).replaceAll('\n', lineBreak)

const asIs: Escape = (json) => json
const ascii: Escape = (json) => json.replace(/[\u0080-\uffff]/g, hex)
const slashes: Escape = (json) => json.replaceAll('/', '\\/')
const php: Escape = (json) => slashes(ascii(json))
/** In upper case, and also for " and the characters that HTML uses. */
const dotnet: Escape = (json) =>
  json.replace(/\\"|\\u[0-9a-f]{4}|\\.|[&'+<>`\u007f-\uffff]/g, (found) => {
    if (found === '\\"') return '\\u0022'
    if (found.startsWith('\\')) return found.startsWith('\\u') ? `\\u${found.slice(2).toUpperCase()}` : found
    return `\\u${hex(found).slice(2).toUpperCase()}`
  })
const go: Escape = (json) => json.replace(/[&<>\u2028\u2029]/g, hex)
const gson: Escape = (json) => json.replace(/[&'<=>\u2028\u2029]/g, hex)
const orgJson: Escape = (json) => json.replaceAll('</', '<\\/')

/** Single differences first, because they say more about a text with no other difference. */
const SERIALISERS: [form: string, layout: Layout, rewrite?: Escape][] = [
  ['without spaces', compact],
  ['spaces after : and ,', spaced],
  ['indented by 2', indented(2)],
  ['indented by 4', indented(4)],
  ['indented by tabs', indented('\t')],
  ['members in alphabetical order', compactSorted],
  ['members in alphabetical order, with spaces', spacedSorted],
  ['\\u escapes outside ASCII', compact, ascii],
  ['\\/ for /', compact, slashes],
  ['as PHP’s json_encode writes it, with \\/ for / and \\u escapes outside ASCII', compact, php],
  ['as PHP’s json_encode with JSON_PRETTY_PRINT writes it', indented(4), php],
  ['as .NET’s System.Text.Json writes it, with \\u escapes for " & \' + < > ` and outside ASCII', compact, dotnet],
  ['as .NET’s System.Text.Json with WriteIndented writes it', indented(2), dotnet],
  ['as .NET’s System.Text.Json with WriteIndented writes it, on Windows', indented(2, '\r\n'), dotnet],
  ['indented by 2, with CRLF', indented(2, '\r\n')],
  ['as Python’s json.dumps writes it, with spaces and \\u escapes outside ASCII', spaced, ascii],
  ['as Python’s json.dumps with sort_keys writes it', spacedSorted, ascii],
  ['as Python’s json.dumps with sort_keys writes it, without spaces', compactSorted, ascii],
  ['as Python’s json.dumps with indent writes it', indented(2), ascii],
  ['as Python’s json.dumps with indent writes it', indented(4), ascii],
  ['as Go’s encoding/json or Ruby on Rails writes it, with \\u escapes for < > &', compact, go],
  ['as Go’s encoding/json writes a map, in alphabetical order and with \\u escapes for < > &', compactSorted, go],
  ["as Java’s Gson writes it, with \\u escapes for < > & = '", compact, gson],
  ['as Java’s org.json writes it, with <\\/ for </', compact, orgJson],
]

/** Returns the JSON as Python's json.dumps writes it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, member]) => `${JSON.stringify(name)}: ${spaced(member)}`)
  return `{${members.join(', ')}}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  const members = Object.entries(value).sort(([left], [right]) => (left < right ? -1 : 1))
  return Object.fromEntries(members.map(([name, member]) => [name, sorted(member)]))
}

function hex(unit: string): string {
  return `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`
}

import type { Body } from './request-signing.ts'

/** What was done to a body between signing and sending. `spaced`: a space after each colon and comma. */
export type BodyMistakeId =
  | 'withoutFinalLineBreak'
  | 'withFinalLineBreak'
  | 'lineBreaksAsLf'
  | 'lineBreaksAsCrlf'
  | 'withoutByteOrderMark'
  | 'bodyLeftOut'
  | 'emptyObject'
  | 'compact'
  | 'spaced'
  | 'indentedBy2'
  | 'indentedBy4'
  | 'indentedByTabs'
  | 'sorted'
  | 'sortedSpaced'
  | 'escaped'
  | 'escapedSpaced'
  | 'slashesEscaped'

interface SignedBody {
  body: Body
  mistake?: BodyMistakeId
}

/** The body as it was sent, and what may have been signed instead: each text once, by the name that comes first. */
export function usualBodies(sent: Body): SignedBody[] {
  const text = typeof sent === 'string' ? sent : decoder.decode(sent)
  const variants = new Map<string, SignedBody>([[text, { body: sent }]])
  for (const [body, mistake] of [...otherEnds(text), ...otherSpellings(text)]) {
    if (!variants.has(body)) variants.set(body, { body, mistake })
  }
  return [...variants.values()]
}

/** One that keeps the byte-order mark. */
const decoder = new TextDecoder('utf-8', { ignoreBOM: true })

type Named = [body: string, mistake: BodyMistakeId]

function otherEnds(text: string): Named[] {
  return [
    [text.replace(/\r?\n$/, ''), 'withoutFinalLineBreak'],
    [`${text}\n`, 'withFinalLineBreak'],
    [text.replaceAll('\r\n', '\n'), 'lineBreaksAsLf'],
    [text.replace(/\r?\n/g, '\r\n'), 'lineBreaksAsCrlf'],
    [text.replace(/^\ufeff/, ''), 'withoutByteOrderMark'],
    ['', 'bodyLeftOut'],
    ['{}', 'emptyObject'],
  ]
}

/** The same JSON as other serialisers write it. There are none of no JSON, nor of one nested beyond the stack. */
function otherSpellings(text: string): Named[] {
  try {
    return spellings(JSON.parse(text))
  } catch {
    return []
  }
}

function spellings(value: unknown): Named[] {
  const compact = JSON.stringify(value)
  return [
    [compact, 'compact'],
    [spaced(value), 'spaced'],
    [JSON.stringify(value, null, 2), 'indentedBy2'],
    [JSON.stringify(value, null, 4), 'indentedBy4'],
    [JSON.stringify(value, null, '\t'), 'indentedByTabs'],
    [JSON.stringify(sorted(value)), 'sorted'],
    [spaced(sorted(value)), 'sortedSpaced'],
    [escaped(compact), 'escaped'],
    [escaped(spaced(value)), 'escapedSpaced'],
    [compact.replaceAll('/', '\\/'), 'slashesEscaped'],
  ]
}

/** As Python's json.dumps writes. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, held]) => `${JSON.stringify(name)}: ${spaced(held)}`)
  return `{${members.join(', ')}}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, held]) => [name, sorted(held)]),
  )
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

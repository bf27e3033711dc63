import { type Source, UnreadableFile } from '@dealer-esim/lib/table-files/unreadable-file.ts'
import type { ImportRow } from './package-rows.ts'

/** A package that covers the world with all operators takes about 20 kB. */
const ELEMENT_LENGTH_MAX = 1_048_576

/** Reads the elements of a JSON array one at a time: the file may not fit in memory. */
export async function* jsonRows(source: Source): AsyncGenerator<ImportRow> {
  let row = 0
  for await (const text of arrayElements(source)) {
    row++
    const value = parsed(text, row)
    const isObject = typeof value === 'object' && value !== null && !Array.isArray(value)
    yield {
      row,
      input: isObject ? (value as Record<string, unknown>) : {},
      faults: isObject ? [] : [{ code: '000108', field: '', reason: 'Not a package: write a JSON object.' }],
      columnOf: (field) => field,
    }
  }
}

function parsed(text: string, row: number): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw new UnreadableFile(row, `Not valid JSON: ${(error as Error).message}`)
  }
}

/** Splits the text of an array at its top-level commas. It parses only strings and brackets. */
async function* arrayElements(source: Source): AsyncGenerator<string> {
  let state: 'before' | 'within' | 'after' = 'before'
  let element = ''
  let depth = 0
  let quoted = false
  let escaped = false
  let count = 0
  for await (const text of decoded(source)) {
    let start = 0
    for (let i = 0; i < text.length; i++) {
      const character = text[i]!
      if (quoted) {
        if (escaped) escaped = false
        else if (character === '\\') escaped = true
        else if (character === '"') quoted = false
        continue
      }
      if (state !== 'within') {
        if (' \t\r\n'.includes(character)) continue
        if (state === 'after' || character !== '[') throw new UnreadableFile(count, NOT_AN_ARRAY)
        state = 'within'
        start = i + 1
        continue
      }
      if (character === '"') quoted = true
      else if (character === '{' || character === '[') depth++
      else if (depth > 0 && (character === '}' || character === ']')) depth--
      else if (depth === 0 && (character === ',' || character === ']')) {
        element += text.slice(start, i)
        start = i + 1
        if (character === ']') state = 'after'
        // Only an empty array has no element before its end.
        if (element.trim() !== '' || character === ',' || count > 0) {
          count++
          yield element
        }
        element = ''
      }
    }
    if (state === 'within') element += text.slice(start)
    if (element.length > ELEMENT_LENGTH_MAX)
      throw new UnreadableFile(
        count + 1,
        'The entry is too long for a package: check for a missing } or quotation mark.',
      )
  }
  if (state === 'before') throw new UnreadableFile(0, NOT_AN_ARRAY)
  if (state === 'within') throw new UnreadableFile(count + 1, 'The file is incomplete: it ends before the array does.')
}

const NOT_AN_ARRAY = 'The file is not a JSON array of packages: it must begin with [ and end with ].'

async function* decoded(source: Source): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true }) // skips a byte-order mark
  for await (const chunk of source) {
    const text = typeof chunk === 'string' ? chunk : decode(decoder, chunk)
    if (text !== '') yield text
  }
}

function decode(decoder: TextDecoder, chunk: Uint8Array): string {
  try {
    return decoder.decode(chunk, { stream: true })
  } catch {
    throw new UnreadableFile(0, 'The file is not in UTF-8: save it as UTF-8.')
  }
}

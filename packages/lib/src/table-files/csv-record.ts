import { UnreadableFile } from './unreadable-file.ts'

export interface CsvRecord {
  /**
   * The row number in a spreadsheet's counting: empty rows count, and a cell with line breaks is in one row. The header is
   * row 1.
   */
  readonly row: number
  readonly cells: string[]
}

/** Spreadsheets use the separator of their country. */
export type Separator = ',' | ';' | '\t'

/**
 * Splits CSV (RFC 4180) into records as it streams in. Also reads `="0123"`, with which people keep a spreadsheet from changing
 * digits, as 0123. A quote at any other place is refused, because a guess could move values to other columns.
 * @throws UnreadableFile
 */
export async function* csvRecords(
  chunks: AsyncIterable<string>,
  separator: Separator,
  lengthMax: number,
): AsyncGenerator<CsvRecord> {
  let rest = ''
  let row = 0
  for await (const chunk of chunks) {
    rest += chunk
    let start = 0
    for (;;) {
      const record = readRecord(rest, start, separator, false, row + 1)
      if (record === undefined) break
      row++
      yield { row, cells: record.cells }
      start = record.end
    }
    rest = rest.slice(start)
    if (rest.length > lengthMax) throw tooLong(row + 1, lengthMax)
  }
  for (let start = 0; start < rest.length; ) {
    const record = readRecord(rest, start, separator, true, row + 1)!
    row++
    yield { row, cells: record.cells }
    start = record.end
  }
}

function tooLong(row: number, lengthMax: number): UnreadableFile {
  const reason = `The row has more than ${lengthMax} characters: look for a quote that begins a cell and is never closed.`
  return new UnreadableFile(row, reason)
}

/** @returns undefined: the record may go on after the end of the text */
function readRecord(text: string, start: number, separator: Separator, isLast: boolean, row: number) {
  const cells: string[] = []
  let at = start
  for (;;) {
    const fault = (reason: string, value?: string) =>
      new UnreadableFile(row, reason, { column: columnLetter(cells.length), value: value?.slice(0, VALUE_LENGTH_MAX) })
    const quoted = readQuoted(text, at, separator)
    if (quoted === 'OPEN') {
      if (isLast) throw fault('A quote begins this cell and is never closed: close it, or remove it.', text.slice(at))
      return undefined
    }
    const end = quoted?.end ?? endOfCell(text, at, separator)
    if (end >= text.length - 1 && !isLast) return undefined // a quote, or the \n of \r\n, may follow
    const cell = quoted?.cell ?? text.slice(at, end)
    if (!quoted && cell.includes('"')) {
      throw fault(
        'A quote is in the middle of this cell: put the whole cell in quotes and double the quotes inside it.',
        cell,
      )
    }
    cells.push(withoutFormula(cell))
    const next = text[end]
    if (next === separator) at = end + 1
    else if (next === undefined) return { cells, end }
    else if (next === '\n') return { cells, end: end + 1 }
    else if (next === '\r') return { cells, end: end + (text[end + 1] === '\n' ? 2 : 1) }
    else
      throw fault(
        'There is text after the closing quote of this cell: remove it, or double any quotes inside the cell.',
        cell,
      )
  }
}

const VALUE_LENGTH_MAX = 60
const QUOTE = 34

/** A cell in quotes, spaces around them allowed. @returns undefined if it has no quotes; OPEN if they are not closed */
function readQuoted(text: string, at: number, separator: Separator) {
  let from = at
  while (isSpace(text, from, separator)) from++
  if (text.charCodeAt(from) === QUOTE) from++
  else if (text.startsWith('="', from)) from += 2
  else return undefined
  let cell = ''
  for (;;) {
    const quote = text.indexOf('"', from)
    if (quote === -1) return 'OPEN' as const
    cell += text.slice(from, quote)
    from = quote + 1
    if (text.charCodeAt(from) !== QUOTE) break
    cell += '"'
    from++
  }
  while (isSpace(text, from, separator)) from++
  return { cell, end: from }
}

function isSpace(text: string, at: number, separator: Separator): boolean {
  const character = text[at]
  return character === ' ' || (character === '\t' && separator !== '\t')
}

function endOfCell(text: string, at: number, separator: Separator): number {
  const code = separator.charCodeAt(0)
  let end = at
  for (; end < text.length; end++) {
    const character = text.charCodeAt(end)
    if (character === code || character === 10 || character === 13) break
  }
  return end
}

/** `"=""0123"""` is the same formula, written by a program that quotes cells with quotes. */
function withoutFormula(cell: string): string {
  return cell.startsWith('="') ? (/^="([^"]*)"$/.exec(cell)?.[1] ?? cell) : cell
}

/** The letter of a spreadsheet's column: 0 → A, 27 → AB. */
export function columnLetter(index: number): string {
  const last = String.fromCharCode(65 + (index % 26))
  return index < 26 ? last : columnLetter(Math.floor(index / 26) - 1) + last
}

import { UnreadableFile } from './unreadable-file.ts'

/** The columns that a table may have. */
export interface KnownColumns {
  /** Finds the column for a header, such as `price:USD`. `key` is the header without case, spaces and underscores. */
  find(key: string, header: string): string | undefined
  /** All of them, for messages and for a person to choose from. */
  readonly names: readonly string[]
  /** @returns why a header that looks like one of ours is refused */
  explain?(header: string): string | undefined
  /** @returns what is missing or contradictory, and what to do about it */
  check(columns: readonly string[]): string | undefined
}

/** A person's statement of which header in the file is which column: the key of the header → the column. */
export type ColumnMap = ReadonlyMap<string, string>

/** `iccid_no`, `ICCID No` and `iccidNo` count as one name. */
export function headerKey(header: string): string {
  return header.toLowerCase().replaceAll(/[\s_-]+/g, '')
}

/** Reads `iccid=ICCID,ac=Activation code`: our columns, and the file's. @returns undefined if it is not in this form */
export function parseColumnMap(text: string): ColumnMap | undefined {
  const pairs = text.split(',').map((pair) => {
    const [ours = '', ...theirs] = pair.split('=').map((name) => name.trim())
    return [headerKey(theirs.join('=')), ours] as const
  })
  return pairs.every(([theirs, ours]) => theirs !== '' && ours !== '') ? new Map(pairs) : undefined
}

export interface MatchedColumns {
  /** Our columns, in the order of the file. */
  readonly columns: readonly string[]
  /** Positions of these columns' cells in a record. */
  readonly places: readonly number[]
  /** Headers of the file that are not read, because a person's map leaves them out. */
  readonly ignored: readonly string[]
}

/**
 * Finds our columns in a header line. A column without a name is left out: its cells must be empty, as in the columns that
 * spreadsheets add.
 * @throws UnreadableFile with the question for the columns
 */
export function matchColumns(
  headers: readonly string[],
  example: readonly string[] | undefined,
  known: KnownColumns,
  map: ColumnMap | undefined,
  row: number,
): MatchedColumns {
  const names = headers.map((header) => header.trim())
  const found = names.map((name) => columnOf(name, known, map))
  const ask = (reason: string) => {
    const question = {
      kind: 'COLUMNS' as const,
      headers: names.flatMap((header, i) =>
        header === ''
          ? []
          : [{ header: header.slice(0, 64), column: found[i] ?? null, example: (example?.[i] ?? '').slice(0, 40) }],
      ),
      columns: known.names,
    }
    return new UnreadableFile(row, reason, { question })
  }
  for (const [key, column] of map ?? []) {
    if (!names.some((name) => headerKey(name) === key)) {
      throw ask(`The file has no column “${key}” from which to read ${column}. It has: ${names.join(', ')}.`)
    }
  }
  const unknown = names.filter((name, i) => name !== '' && found[i] === undefined)
  if (unknown.length > 0 && map === undefined) {
    const which = unknown.map((name) => `“${name.slice(0, 64)}”`).join(', ')
    const reason = unknown.map((name) => known.explain?.(name)).find((text) => text !== undefined)
    if (reason !== undefined) throw ask(reason)
    throw ask(
      `Unknown ${unknown.length === 1 ? 'column' : 'columns'} ${which}: correct the names, remove the columns, or assign them to known columns. Known: ${known.names.join(', ')}.`,
    )
  }
  const places = found.flatMap((column, i) => (column === undefined ? [] : [i]))
  const columns = places.map((place) => found[place]!)
  const repeated = columns.find((column, i) => columns.indexOf(column) < i)
  if (repeated !== undefined) throw ask(`The column ${repeated} is repeated: remove one.`)
  const missing = known.check(columns)
  if (missing !== undefined) throw ask(missing)
  return { columns, places, ignored: unknown }
}

function columnOf(name: string, known: KnownColumns, map: ColumnMap | undefined): string | undefined {
  if (name === '') return undefined
  const key = headerKey(name)
  const mapped = map?.get(key)
  if (mapped !== undefined) {
    const column = known.find(headerKey(mapped), mapped)
    if (column === undefined)
      throw new UnreadableFile(0, `There is no column ${mapped}. Known: ${known.names.join(', ')}.`)
    return column
  }
  const column = known.find(key, name)
  // The person has chosen a different header for it.
  return column !== undefined &&
    [...(map?.values() ?? [])].some((taken) => known.find(headerKey(taken), taken) === column)
    ? undefined
    : column
}

export interface Column<Row> {
  title: string
  value(row: Row): string
  /** Aligned to the right, as for figures. */
  right?: boolean
}

/** Formats rows as a table with a header and aligned columns; without rows, returns `emptyMessage`. */
export function table<Row>(rows: readonly Row[], columns: readonly Column<Row>[], emptyMessage: string): string {
  if (rows.length === 0) return emptyMessage
  const cells = [
    columns.map((column) => column.title),
    ...rows.map((row) => columns.map((column) => column.value(row))),
  ]
  const widths = columns.map((_, index) => Math.max(...cells.map((line) => width(line[index]!))))
  return cells
    .map((line) =>
      line
        .map((cell, index) => pad(cell, widths[index]!, columns[index]!.right === true))
        .join('  ')
        .trimEnd(),
    )
    .join('\n')
}

/** Formats the names and values of one object, with aligned values. */
export function fields(pairs: readonly (readonly [name: string, value: string])[]): string {
  const widest = Math.max(...pairs.map(([name]) => width(name)))
  return pairs
    .map(([name, value]) =>
      `${pad(name, widest, false)}  ${value.replaceAll('\n', `\n${' '.repeat(widest + 2)}`)}`.trimEnd(),
    )
    .join('\n')
}

/** `2026-11-21 13:28:09`, always UTC. */
export function timeText(time: Date | null): string {
  return time === null ? '' : time.toISOString().slice(0, 19).replace('T', ' ')
}

function width(text: string): number {
  return [...text].length
}

function pad(text: string, to: number, right: boolean): string {
  const space = ' '.repeat(Math.max(0, to - width(text)))
  return right ? space + text : text + space
}

/** `1 package`, `2 packages` */
export function count(number: number, noun: string): string {
  return `${number} ${noun}${number === 1 ? '' : 's'}`
}

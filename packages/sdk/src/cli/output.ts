import { formatMoney, readPartOf, readVolume, volumeText } from '@dealer-esim/contract'

/** Text for people: aligned, and coloured only on a terminal. */

export type Paint = Record<'bold' | 'dim' | 'red' | 'green' | 'yellow', (text: string) => string>

export function paint(colour: boolean): Paint {
  const style = (on: number, off: number) => (text: string) => (colour ? `\x1b[${on}m${text}\x1b[${off}m` : text)
  return { bold: style(1, 22), dim: style(2, 22), red: style(31, 39), green: style(32, 39), yellow: style(33, 39) }
}

/** Two columns, names and values; null values are omitted. */
export function pairs(rows: readonly (readonly [string, string | number | null | undefined])[], indent = ''): string {
  const shown = rows
    .filter(([, value]) => value !== null && value !== undefined && value !== '')
    .map(([name, value]) => [printable(name), printable(String(value))] as const)
  const width = Math.max(0, ...shown.map(([name]) => name.length))
  return shown.map(([name, value]) => `${indent}${name.padEnd(width)}  ${value}\n`).join('')
}

/** Columns as wide as their content; a heading that starts with `>` is right-aligned. */
export function table(headings: readonly string[], rows: readonly (readonly string[])[], { bold, dim }: Paint): string {
  if (rows.length === 0) return `${dim('none')}\n`
  const right = headings.map((heading) => heading.startsWith('>'))
  const names = headings.map((heading) => heading.replace(/^>/, ''))
  const clean = rows.map((row) => row.map(printable))
  const widths = names.map((name, at) => Math.max(name.length, ...clean.map((row) => (row[at] ?? '').length)))
  const line = (cells: readonly string[]) =>
    cells
      .map((cell, at) => (right[at] ? cell.padStart(widths[at] ?? 0) : cell.padEnd(widths[at] ?? 0)))
      .join('  ')
      .trimEnd()
  return `${bold(line(names))}\n${clean.map((row) => `${line(row)}\n`).join('')}`
}

/** A hint on how to get the next page of a list. */
export function more(nextCursor: string | null, { dim }: Paint): string {
  return nextCursor === null ? '' : dim(`More: --all, or --cursor ${printable(nextCursor)}\n`)
}

/** Replaces control characters: text from a gateway must not control the terminal. */
export function printable(text: string): string {
  return text.replace(/[\u0000-\u001f\u007f-\u009f]/g, ' ')
}

export function money(units: number, currencyCode: string): string {
  return `${formatMoney(units)} ${currencyCode}`
}

export function volume(bytes: number | null): string {
  return bytes === null ? 'unlimited' : volumeText(readVolume(bytes))
}

/** The used or remaining part of a total, in the same units as the total. */
export function partOf(total: number | null, bytes: number | null): string {
  return bytes === null ? '' : volumeText(readPartOf(total, bytes))
}

/** `2026-11-20T13:28:09.000Z` → `2026-11-20 13:28:09Z`. */
export function time(text: string | null): string {
  return text === null ? '' : text.replace('T', ' ').replace(/\.\d+Z$/, 'Z')
}

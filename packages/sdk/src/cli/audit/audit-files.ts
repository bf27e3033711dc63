import { readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { MalformedMoney, parseMoney } from '@dealer-esim/contract'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import type { AuditState, OwnOrder } from './audit-books.ts'

const FORMAT = 'dealer-esim-audit-1'

/** Reads the state of the last audit; undefined if there is no file yet. @throws CommandFailed */
export async function readState(cwd: string, file: string): Promise<AuditState | undefined> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined
    throw new CommandFailed(`${file} cannot be read: ${error.message}.`, EXIT.USAGE)
  })
  if (text === undefined) return undefined
  const state = parse(text)
  const isState =
    state?.format === FORMAT &&
    typeof state.pinnedKey === 'string' &&
    typeof state.note === 'string' &&
    typeof state.balance === 'number' &&
    Array.isArray(state.leaves) &&
    state.leaves.every((leaf) => typeof leaf === 'string')
  if (!isState) throw new CommandFailed(`${file} is not the state file of an audit. Name another file.`, EXIT.USAGE)
  const { pinnedKey, note, balance, leaves } = state as unknown as AuditState
  return { pinnedKey, note, balance, leaves }
}

function parse(text: string): Record<string, unknown> | undefined {
  try {
    const value = JSON.parse(text) as unknown
    return typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : undefined
  } catch {
    return undefined
  }
}

/** Replaces the state file in one step: a reader sees the old state or the new one. */
export async function writeState(cwd: string, file: string, state: AuditState): Promise<void> {
  const path = resolve(cwd, file)
  try {
    await writeFile(`${path}.new`, `${JSON.stringify({ format: FORMAT, ...state })}\n`, { flush: true })
    await rename(`${path}.new`, path)
  } catch (error) {
    throw new CommandFailed(`${file} cannot be written: ${(error as Error).message}.`, EXIT.USAGE)
  }
}

/**
 * Reads a list of orders: CSV with a header, the columns transactionId and amount in any place. An amount is an integer in
 * 1/10 000, as the API returns it, or decimal: `45000` and `4.50` are the same.
 * @throws CommandFailed
 */
export async function readOrders(cwd: string, file: string): Promise<OwnOrder[]> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: Error) => {
    throw new CommandFailed(`${file} cannot be read: ${error.message}.`, EXIT.USAGE)
  })
  const lines = text.replace(/^\ufeff/, '').split('\n')
  const header = cellsOf(lines[0] ?? '')
  const [idAt, amountAt] = [header.indexOf('transactionId'), header.indexOf('amount')]
  if (idAt < 0 || amountAt < 0)
    throw new CommandFailed(`${file} needs a first line with the columns transactionId and amount.`, EXIT.USAGE)
  const orders: OwnOrder[] = []
  for (const [index, row] of lines.entries()) {
    if (index === 0 || row.trim() === '') continue
    const cells = cellsOf(row)
    const amount = amountOf(cells[amountAt] ?? '')
    if (!cells[idAt] || amount === undefined)
      throw new CommandFailed(
        `Line ${index + 1} of ${file} has no transactionId, or no amount such as 45000 or 4.50.`,
        EXIT.USAGE,
      )
    orders.push({ transactionId: cells[idAt], amount, line: index + 1 })
  }
  return orders
}

/** Neither a transactionId nor an amount contains a comma or a quotation mark. */
function cellsOf(line: string): string[] {
  return line.split(',').map((cell) => cell.trim().replaceAll('"', ''))
}

function amountOf(text: string): number | undefined {
  if (/^\d{1,16}$/.test(text)) return Number(text)
  try {
    return Number(parseMoney(text))
  } catch (error) {
    if (error instanceof MalformedMoney) return undefined
    throw error
  }
}

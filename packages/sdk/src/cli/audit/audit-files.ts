import { readFile, rename, writeFile } from 'node:fs/promises'
import { resolve } from 'node:path'
import { MalformedOrders, type OwnOrder, parseOwnOrders, type Remembered } from '@dealer-esim/contract'
import { CommandFailed, EXIT } from '../exit-codes.ts'
import type { AuditState } from './audit-books.ts'

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
  const { pinnedKey, note, balance, leaves } = state as unknown as AuditState & Remembered
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

/** Reads a dealer's own list of orders. @throws CommandFailed */
export async function readOrders(cwd: string, file: string): Promise<OwnOrder[]> {
  const text = await readFile(resolve(cwd, file), 'utf8').catch((error: Error) => {
    throw new CommandFailed(`${file} cannot be read: ${error.message}.`, EXIT.USAGE)
  })
  try {
    return parseOwnOrders(text, file)
  } catch (error) {
    if (error instanceof MalformedOrders) throw new CommandFailed(error.message, EXIT.USAGE)
    throw error
  }
}

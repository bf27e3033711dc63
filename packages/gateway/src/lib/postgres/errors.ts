import pg from 'pg'

/** SQLSTATE of a failure that the server reported, if it did. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** The unique key that a statement violated, and the values that are there already, as the server words them. */
export function violatedKey(error: unknown): { constraint: string; detail: string } | undefined {
  if (sqlState(error) !== UNIQUE_VIOLATION) return undefined
  const { constraint = '', detail = '' } = error as pg.DatabaseError
  return { constraint, detail }
}

const UNIQUE_VIOLATION = '23505'

/**
 * True when nothing is known to have been answered: no SQLSTATE, or the server said that it ends the connection, takes
 * none, or is not the one that takes writes.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof CommitUnknown) return true
  // A name with several addresses: each was tried.
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss)
  const state = sqlState(error)
  if (state !== undefined) return CONNECTION_STATES.test(state)
  return error instanceof Error && (CONNECTION_ERRORS.test(error.message) || 'errno' in error || hasSystemCode(error))
}

/** As failures of TLS have them, without an errno. */
function hasSystemCode({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && /^E[A-Z]{3,}$/.test(code)
}

// Ended by an administrator, a shutdown, or for having been idle; connection exceptions; who it is, which database, too
// many; a standby that is not promoted yet.
const CONNECTION_STATES = /^(57P|25P03|08|28|3D000|53300|25006)/

const CONNECTION_ERRORS =
  /connection (terminated|ended|error)|client (has encountered|was closed)|timeout exceeded when trying to connect|read timeout|not queryable/i

/** The connection died between sending COMMIT and its answer: it happened or it did not. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
  constructor(cause: unknown) {
    super('the connection to the database was lost while committing', { cause })
  }
}

/** What a server says to a connection that it does not take, and what to do about it. */
const REMEDIES: Record<string, string> = {
  '28P01': 'Correct user and password in DATABASE_URL, or let this user in by pg_hba.conf.',
  '28000': 'Correct user and password in DATABASE_URL, or let this user in by pg_hba.conf.',
  '3D000': 'Create it: create database NAME owner USER encoding UTF8 template template0.',
  '53300': "Raise the server's max_connections, or end what holds so many.",
}

/** A failure that no server spoke of: it was not reached. */
const UNREACHABLE_REMEDY =
  'Look at host and port in DATABASE_URL, and at whether the server runs and lets this machine in.'

/** @returns a sentence why there is no connection to the database, and what to do; never the password */
export function explainNoConnection(error: unknown): string {
  const state = sqlState(error)
  const cure = state === undefined ? UNREACHABLE_REMEDY : (REMEDIES[state] ?? "Look at the server's log.")
  return `The database cannot be used: ${messageOf(error)}. ${cure}`
}

/** Whether a statement failed because its connection did not come about. */
export function isNoConnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || Object.hasOwn(REMEDIES, sqlState(error) ?? '')
}

/** Where several addresses were tried, the error itself says nothing. */
function messageOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first.message : String(first)
}

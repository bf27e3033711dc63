import { sqlState } from './db.ts'

/** What a server says to a connection that it does not take, and what to do about it. */
const CURES: Record<string, string> = {
  '28P01': 'Correct user and password in DATABASE_URL, or let this user in by pg_hba.conf.',
  '28000': 'Correct user and password in DATABASE_URL, or let this user in by pg_hba.conf.',
  '3D000': 'Create it: create database NAME owner USER encoding UTF8 template template0.',
  '53300': "Raise the server's max_connections, or end what holds so many.",
}

/** A failure that no server spoke of: it was not reached. */
const UNREACHED = 'Look at host and port in DATABASE_URL, and at whether the server runs and lets this machine in.'

/** @returns a sentence why there is no connection to the database, and what to do; never the password */
export function whyNoConnection(error: unknown): string {
  const state = sqlState(error)
  const cure = state === undefined ? UNREACHED : (CURES[state] ?? "Look at the server's log.")
  return `The database cannot be used: ${messageOf(error)}. ${cure}`
}

/** Whether a statement failed because its connection did not come about. */
export function isNoConnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  return code === 'ECONNREFUSED' || code === 'ENOTFOUND' || Object.hasOwn(CURES, sqlState(error) ?? '')
}

/** Where several addresses were tried, the error itself says nothing. */
function messageOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first.message : String(first)
}

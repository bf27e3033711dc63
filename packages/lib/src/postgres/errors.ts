import pg from 'pg'
import { withoutShardNumber } from './distributed-schema.ts'

/** The SQLSTATE, if the server reported the failure. */
export function sqlState(error: unknown): string | undefined {
  return error instanceof pg.DatabaseError ? error.code : undefined
}

/** The unique constraint that a statement violated, with the server's description of the existing values. */
export function violatedKey(error: unknown): { constraint: string; detail: string } | undefined {
  if (!(error instanceof pg.DatabaseError)) return undefined
  const { code, constraint = '', detail = '' } = error
  return code === UNIQUE_VIOLATION ? { constraint: withoutShardNumber(constraint), detail } : undefined
}

const UNIQUE_VIOLATION = '23505'

/**
 * True if the connection failed, so that the statement's outcome is unknown: no SQLSTATE, or the server ended or refused
 * the connection, or does not accept writes.
 */
export function isConnectionLoss(error: unknown): boolean {
  if (error instanceof CommitUnknown) return true
  // A host name has several addresses, all of which were tried.
  if (error instanceof AggregateError) return error.errors.some(isConnectionLoss)
  const state = sqlState(error)
  if (state !== undefined) return CONNECTION_STATES.test(state)
  return error instanceof Error && (CONNECTION_ERRORS.test(error.message) || 'errno' in error || hasSystemCode(error))
}

/** True if the server undid the statement because it ran out of disk, memory, connections or time: it may succeed later. */
export function isOutOfResources(error: unknown): boolean {
  const state = sqlState(error)
  return state !== undefined && (OUT_OF_RESOURCES.test(state) || NO_SPACE.test((error as Error).message))
}

// Out of resources, including 53100 (disk full); time-outs of statements and locks; errors of the operating system.
const OUT_OF_RESOURCES = /^(53|57014|55P03|58030)/
/** Reported with other states if a quota is exhausted, or if the disk is full while a file other than a table is written. */
const NO_SPACE = /No space left on device|Disk quota exceeded/

/** True if another transaction was in the statement's way: the same statement may succeed now. */
export function isContended(error: unknown): boolean {
  return CONTENDED.has(sqlState(error) ?? '')
}

// Time-outs of locks, deadlocks, and conflicts of serializable transactions.
const CONTENDED = new Set(['55P03', '40P01', '40001'])

/** TLS failures have a code but no errno. */
function hasSystemCode({ code }: NodeJS.ErrnoException): boolean {
  return code !== undefined && /^E[A-Z]{3,}$/.test(code)
}

// Ended by an administrator, a shutdown or an idle time-out; connection exceptions; wrong user; wrong database; too many
// connections; a standby that is not promoted yet.
const CONNECTION_STATES = /^(57P|25P03|08|28|3D000|53300|25006)/

const CONNECTION_ERRORS =
  /connection (terminated|ended|error)|client (has encountered|was closed)|timeout exceeded when trying to connect|read timeout|not queryable/i

/** The connection died between COMMIT and its answer, so the transaction may or may not have committed. */
export class CommitUnknown extends Error {
  override readonly name = 'CommitUnknown'
  constructor(cause: unknown) {
    super('the connection to the database was lost while committing', { cause })
  }
}

/** The remedy for each SQLSTATE with which a server refuses a connection. */
const REMEDIES: Record<string, string> = {
  '28P01': 'Correct the user and password in DATABASE_URL, or allow this user in pg_hba.conf.',
  '28000': 'Correct the user and password in DATABASE_URL, or allow this user in pg_hba.conf.',
  '3D000': 'Create the database: create database NAME owner USER encoding UTF8 template template0.',
  '53300': "Raise the server's max_connections, or close unused connections.",
}

/** The user lacks a privilege. Only the message says which. */
const LACKS_RIGHT = '42501'
/**
 * Each transaction in a distributed schema takes a lock that only the owner may take, through a function in the owner's
 * schema.
 */
const NOT_OWNER = /^must be owner|^permission denied for schema/
const OWNER_REMEDY =
  'Use the owner of the tables in DATABASE_URL, or give them to its user: reassign owned by OLD_OWNER to USER.'
const CONNECT_REMEDY = 'Grant the user of DATABASE_URL the right to connect: grant connect on database NAME to USER.'
/** The first session in a distributed schema creates the schema of the views. */
const MAY_NOT_CREATE = /^permission denied for database/
const CREATE_REMEDY =
  'Grant the user of DATABASE_URL the right to create schemas: grant create on database NAME to USER.'

/** The driver's own errors before a connection is encrypted. */
const NO_TLS = /server does not support SSL|secure TLS connection|sslnegotiation/
/** Codes of Node's errors about the server's certificate. */
const UNTRUSTED = /^(DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_|CERT_|ERR_TLS_CERT_)/

/** The remedy for failures that no server reported, because none was reached. */
const UNREACHABLE_REMEDY =
  'Check the host and port in DATABASE_URL, and that the server runs and accepts connections from this machine.'

/** Explains why there is no connection to the database and what to do, without the password. */
export function explainNoConnection(error: unknown, env = process.env): string {
  const remedy = isTlsFailure(error) ? tlsRemedy(error, env) : remedyFor(error)
  return `Cannot connect to the database: ${messageOf(error)}. ${remedy}`
}

const TLS_FAILURE = /\b(SSL|TLS|no encryption)\b|certificate/i

/** True if one side wants TLS and the other does not, or if a certificate is not trusted. */
function isTlsFailure(error: unknown): boolean {
  return TLS_FAILURE.test(messageOf(error))
}

/** The driver, not the gateway, reads these variables. */
const TLS_VARIABLES = ['PGSSLMODE', 'PGSSLNEGOTIATION']

function tlsRemedy(error: unknown, env: NodeJS.ProcessEnv): string {
  const set = TLS_VARIABLES.filter((name) => env[name])
  if (set.length > 0) {
    const values = set.map((name) => `${name}=${env[name]}`).join(' and ')
    return `The environment has ${values}: unset ${set.length > 1 ? 'them' : 'it'}, or add the sslmode of this server to DATABASE_URL, such as ?sslmode=verify-full or ?sslmode=disable.`
  }
  if (/certificate/i.test(messageOf(error)))
    return 'Specify the certificate authority of the server in DATABASE_URL: ?sslmode=verify-full&sslrootcert=FILE. PGSSLROOTCERT is not read.'
  return /no encryption/.test(messageOf(error))
    ? 'Add ?sslmode=verify-full to DATABASE_URL, or allow this user in pg_hba.conf.'
    : 'Remove sslmode from DATABASE_URL, or turn on TLS on the server.'
}

function remedyFor(error: unknown): string {
  if (!(error instanceof pg.DatabaseError)) return UNREACHABLE_REMEDY
  const { code = '', message, detail = '' } = error
  if (code === LACKS_RIGHT) {
    if (detail.includes('CONNECT')) return CONNECT_REMEDY
    if (NOT_OWNER.test(message)) return OWNER_REMEDY
    if (MAY_NOT_CREATE.test(message)) return CREATE_REMEDY
  }
  return REMEDIES[code] ?? "See the server's log."
}

/** True if a statement failed because no connection could be made. */
export function isNoConnection(error: unknown): boolean {
  const { code } = error as NodeJS.ErrnoException
  if (code === 'ECONNREFUSED' || code === 'ENOTFOUND' || UNTRUSTED.test(code ?? '')) return true
  return Object.hasOwn(REMEDIES, sqlState(error) ?? '') || (error instanceof Error && NO_TLS.test(error.message))
}

/** The message of an error. If several addresses were tried, the error itself has none. */
export function messageOf(error: unknown): string {
  const first = error instanceof AggregateError ? error.errors[0] : error
  return first instanceof Error ? first.message : String(first)
}

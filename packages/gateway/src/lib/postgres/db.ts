import pg from 'pg'
import { CommitUnknown, isConnectionLoss } from './errors.ts'
import { type Connection, createPipeline, parserOf, type Statement, type StatementResult } from './pipeline.ts'
import { type StalledConnections, watchStalledConnections } from './stalled-connections.ts'

export type { Statement }

/** Outside a transaction: each statement is its own. What opens a transaction takes a Db. */
export interface Db {
  query<Row>(statement: Statement): Promise<Row[]>
  /**
   * Runs `work` in one transaction and commits. A throw rolls back. Statements are pipelined: those that are not
   * awaited one by one share a round trip, and COMMIT rides with the last of them.
   * @throws CommitUnknown when the connection died after COMMIT was sent: the outcome has to be looked up.
   */
  tx<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** Connections in use, idle and waited for. */
  readonly pool: pg.Pool
}

/** Inside a transaction. What must be atomic takes a Tx first. */
export interface Tx {
  readonly brand: 'tx'
  query<Row>(statement: Statement): Promise<Row[]>
  /** Sends a statement whose rows nobody needs, without a round trip of its own; its failure fails the commit. */
  send(statement: Statement): void
}

export interface DbOptions {
  url: string
  poolSize: number
  applicationName: string
  lockTimeoutMs?: number
  statementTimeoutMs?: number
  /** How long the server waits inside a transaction for our next statement (60 s). */
  idleInTransactionMs?: number
  /** Commits need not wait for the disk: for what a crash may forget (RequestIDs), never for money. */
  asynchronousCommit?: boolean
  /**
   * For statements that are prepared once and run while their tables grow from nothing to millions: plans are made
   * once, and by index, whatever the statistics of the moment say. A plan made on an empty table read 20 000 orders
   * one by one for each look-up.
   */
  genericPlans?: boolean
  /** Idle connections stay open: to sign in and plan again takes some 30 ms, of the first order after a quiet while. */
  keepConnections?: boolean
  onIdleError?: (error: Error) => void
}

export const CONNECT_TIMEOUT_MS = 5_000
const IDLE_MS = 10_000
const STATEMENT_TIMEOUT_MS = 30_000
/** What the server's own time limit should have ended by then, it will not end any more. */
const STALL_MARGIN_MS = 5_000

export function createDb(options: DbOptions): Db & { close(): Promise<void> } {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const pool = new pg.Pool({
    connectionString: options.url,
    max: options.poolSize,
    application_name: options.applicationName,
    connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
    lock_timeout: options.lockTimeoutMs ?? 10_000,
    statement_timeout: statementTimeoutMs,
    idle_in_transaction_session_timeout: options.idleInTransactionMs ?? 60_000,
    keepAlive: true,
    idleTimeoutMillis: options.keepConnections ? 0 : IDLE_MS,
    types: { getTypeParser: parserOf },
    options: serverSettings(options),
    ...({ pipeline: true } as object),
  })
  // An idle connection that dies is replaced by the pool; without a listener it would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // So would one that dies in use; there its statements' own failures tell.
  pool.on('connect', (client) => client.on('error', () => {}))
  const stalled = watchStalledConnections<Connection>(statementTimeoutMs + STALL_MARGIN_MS, ({ stream }) =>
    stream.destroy(new Error('the database does not answer: read timeout')),
  )
  const source = { pool, stalled }
  return {
    pool,
    query: <Row>(statement: Statement) => runAlone<Row>(source, statement),
    tx: (work) => runTransaction(source, work),
    close: () => pool.end(),
  }
}

interface ConnectionSource {
  pool: pg.Pool
  stalled: StalledConnections<Connection>
}

/** A connection of the pool; those that may have died with another that did are closed on the way. */
async function takeConnection({ pool, stalled }: ConnectionSource): Promise<pg.PoolClient> {
  for (;;) {
    const client = await pool.connect()
    // The driver's declarations leave it out.
    const { connection } = client as unknown as { connection: Connection }
    if (!stalled.isSuspect(connection)) return client
    client.release(true)
  }
}

function serverSettings(options: DbOptions): string {
  const settings = ['jit=off']
  if (options.asynchronousCommit) settings.push('synchronous_commit=off')
  if (options.genericPlans) settings.push('plan_cache_mode=force_generic_plan', 'enable_seqscan=off')
  return settings.map((setting) => `-c ${setting}`).join(' ')
}

async function runAlone<Row>(source: ConnectionSource, statement: Statement): Promise<Row[]> {
  const client = await takeConnection(source)
  let broken: Error | undefined
  try {
    return (await createPipeline(client, source.stalled)(statement)).rows as Row[]
  } catch (error) {
    if (isConnectionLoss(error)) broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

async function runTransaction<Result>(source: ConnectionSource, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const client = await takeConnection(source)
  const ask = createPipeline(client, source.stalled)
  const unanswered: Promise<unknown>[] = []
  const send = (statement: Statement) => {
    const answer = ask(statement)
    answer.catch(() => {}) // its failure is read where it is awaited
    return answer
  }
  const sendInside = (statement: Statement) => {
    const answer = send(statement)
    const settled = answer.then(() => {}) // its rows are let go
    settled.catch(() => {})
    unanswered.push(settled)
    return answer
  }
  const tx: Tx = {
    brand: 'tx',
    query<Row>(statement: Statement) {
      const rows = sendInside(statement).then((answer) => answer.rows as Row[])
      // Of two statements under way, the first failure leaves; nobody awaits the second, which must not end the process.
      rows.catch(() => {})
      return rows
    },
    send: (statement) => void sendInside(statement),
  }
  let broken: Error | undefined
  try {
    sendInside(BEGIN)
    const result = await work(tx)
    await commit(send(COMMIT), unanswered)
    return result
  } catch (error) {
    if (isConnectionLoss(error)) broken = error as Error
    else await send(ROLLBACK).catch((lost: Error) => (broken = lost))
    throw error
  } finally {
    client.release(broken)
  }
}

const BEGIN: Statement = { text: 'begin', name: 'begin' }
const COMMIT: Statement = { text: 'commit', name: 'commit' }
const ROLLBACK: Statement = { text: 'rollback', name: 'rollback' }

async function commit(committing: Promise<StatementResult>, unanswered: Promise<unknown>[]): Promise<void> {
  let failure: unknown
  for (const answer of unanswered) await answer.catch((reason) => (failure ??= reason))
  // A statement that the server refused made COMMIT a rollback; one whose answer was lost leaves COMMIT in doubt.
  if (failure !== undefined && !isConnectionLoss(failure)) {
    await committing.catch(() => {})
    throw failure
  }
  let outcome: StatementResult
  try {
    outcome = await committing
  } catch (error) {
    throw isConnectionLoss(error) ? new CommitUnknown(error) : error
  }
  if (outcome.command !== 'COMMIT') throw failure ?? new Error('the transaction was rolled back by the database')
}

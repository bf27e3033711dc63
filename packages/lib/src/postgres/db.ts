import pg from 'pg'
import { CommitUnknown, isConnectionLoss, messageOf } from './errors.ts'
import {
  type Connection,
  connectionOf,
  createPipeline,
  getTypeParser,
  type Statement,
  type StatementResult,
} from './pipeline.ts'
import { DEFAULT_SCHEMA } from './schema.ts'
import { clientFor, countServers, isOutdated, SchemaElsewhere } from './servers.ts'
import { applySettings, CONNECT_TIMEOUT_MS, type SessionSettings } from './session-settings.ts'
import { type ResponseWatch, type StalledConnections, watchStalledConnections } from './stalled-connections.ts'

export type { Statement }

/** Runs statements outside a transaction, or opens one. A function that opens a transaction takes a Db. */
export interface Db {
  query<Row>(statement: Statement): Promise<Row[]>
  /**
   * Runs `work` in one transaction and commits; rolls back if it throws. Statements that are not awaited one by one share
   * a round trip, and COMMIT goes out together with the last of them.
   * @throws CommitUnknown if the connection died after COMMIT was sent: the caller must look up whether it took effect.
   */
  tx<Result>(work: (tx: Tx) => Promise<Result>): Promise<Result>
  /** For metrics: connections in use, idle connections, and requests waiting for one. */
  readonly pool: pg.Pool
}

/** A Db with its own connections. */
export interface Database extends Db {
  /**
   * Resolves to true if the server answers on a connection of this pool. A connection that does not answer within
   * `CHECK_LIMIT_MS` counts as stalled, so that statements need not find out themselves.
   */
  isResponding(): Promise<boolean>
  close(): Promise<void>
}

/** An open transaction. A function that must be atomic with others takes a Tx first. */
export interface Tx {
  readonly brand: 'tx'
  /** When the connection was made, by `performance.now`. Earlier connections may lead to another server. */
  readonly connectedAt: number
  /** @throws TransactionEnded */
  query<Row>(statement: Statement): Promise<Row[]>
  /**
   * Sends a statement whose rows are not needed, without waiting for it. Its failure fails the commit.
   * @throws TransactionEnded
   */
  send(statement: Statement): void
  /** Runs `effect`, such as counting in a metric, once COMMIT is confirmed. It must not throw. */
  afterCommit(effect: () => void): void
}

/**
 * A statement was sent in a transaction after its COMMIT or ROLLBACK. The server would run it in its own transaction, or in
 * the connection's next transaction, so it is not sent.
 */
export class TransactionEnded extends Error {
  override readonly name = 'TransactionEnded'
  constructor({ name, text }: Statement) {
    super(`the transaction has ended, so this statement was not sent; await it before the end: ${name ?? text}`)
  }
}

export interface DbOptions {
  url: string
  /** The search_path of the connections. */
  schema?: string | undefined
  poolSize: number
  applicationName: string
  lockTimeoutMs?: number
  statementTimeoutMs?: number
  /** The server counts as dead if it sends nothing for this long while a response is due. */
  stallMs?: number
  /** Shared by the pools of one server. */
  stalled?: StalledConnections<Connection>
  connectTimeoutMs?: number
  /** How long the server waits inside a transaction for our next statement (60 s). */
  idleInTransactionMs?: number
  /** Commits asynchronously. Only for data that may be lost in a crash, never for money. */
  asynchronousCommit?: boolean
  /**
   * For prepared statements whose tables grow from empty to millions of rows: plans are made once and use indexes,
   * independent of current statistics. A plan made for an empty table scanned 20 000 rows for each look-up.
   */
  genericPlans?: boolean
  /** Idle connections stay open. Connecting and planning again would delay the first request after a quiet period by 30 ms. */
  keepConnections?: boolean
  onIdleError?: (error: Error) => void
}

/** Long enough for plans to outlive the pauses between bursts: a new connection plans each statement several times. */
const IDLE_MS = 60_000
const STATEMENT_TIMEOUT_MS = 30_000
/** After this margin the server's own statement time-out has taken effect. */
const STALL_MARGIN_MS = 5_000
/** The check takes less than a millisecond on a server that responds. */
const CHECK_LIMIT_MS = 3_000

/** Creates a watch that closes stalled connections of all pools that share it. */
export function createStallWatch(): StalledConnections<Connection> {
  return watchStalledConnections(({ stream }) =>
    stream.destroy(new Error('the database does not answer: read timeout')),
  )
}

export function createDb(options: DbOptions): Database {
  const statementTimeoutMs = options.statementTimeoutMs ?? STATEMENT_TIMEOUT_MS
  const settings = sessionSettings(options)
  const pool = new pg.Pool({
    connectionString: options.url,
    Client: clientFor(options.url, options.schema ?? DEFAULT_SCHEMA),
    max: options.poolSize,
    application_name: options.applicationName,
    connectionTimeoutMillis: options.connectTimeoutMs ?? CONNECT_TIMEOUT_MS,
    keepAlive: true,
    idleTimeoutMillis: options.keepConnections ? 0 : IDLE_MS,
    types: { getTypeParser },
    ...({ pipeline: true, onConnect: (client: pg.PoolClient) => applySettings(client, settings) } as object),
  })
  // The pool replaces an idle connection that dies; without a listener its error would end the process.
  pool.on('error', (error) => options.onIdleError?.(error))
  // A connection that dies in use emits an error too; its statements report the failure.
  pool.on('connect', (client) => {
    client.on('error', () => {})
    connectedAt.set(client, performance.now())
  })
  const stalled = options.stalled ?? createStallWatch()
  const source = {
    pool,
    servers: countServers(options.url),
    stalled,
    watch: stalled.within(options.stallMs ?? statementTimeoutMs + STALL_MARGIN_MS),
  }
  const checked = { ...source, watch: stalled.within(CHECK_LIMIT_MS) }
  return {
    pool,
    query: <Row>(statement: Statement) => runAlone<Row>(source, statement),
    tx: (work) => runTransaction(source, work),
    isResponding: () =>
      runAlone(checked, CHECK).then(
        () => true,
        () => false,
      ),
    close: () => pool.end(),
  }
}

/**
 * Makes functions that take a Db run their transactions as parts of an open one: they commit or roll back with it. If such a
 * function throws, its statements are not undone, so let its error end the transaction.
 */
export function joinTransaction({ pool }: Db, tx: Tx): Db {
  return { pool, query: (statement) => tx.query(statement), tx: (work) => work(tx) }
}

const connectedAt = new WeakMap<pg.PoolClient, number>()

interface ConnectionSource {
  pool: pg.Pool
  /** The number of servers that connections can be made to. */
  servers: number
  stalled: StalledConnections<Connection>
  watch: ResponseWatch<Connection>
}

/**
 * Takes a connection from the pool. Closes connections that may have died together with a stalled one, or that still lead
 * to a former primary.
 */
async function takeConnection({ pool, servers, stalled }: ConnectionSource): Promise<pg.PoolClient> {
  for (let left = servers, followed = 0; ; ) {
    try {
      const client = await pool.connect()
      if (!stalled.isSuspect(connectionOf(client)) && !isOutdated(client)) return client
      client.release(true)
    } catch (error) {
      if (error instanceof SchemaElsewhere && followed++ < FOLLOWED_MAX) continue
      // Otherwise the next connection is made to another server.
      if (--left <= 0 || isPoolExhausted(error)) throw error
    }
  }
}

/** Reconnections per attempt: from the configured node to the node with the schema, and again if it has moved since. */
const FOLLOWED_MAX = 2

/** True if no connection was returned to the pool in time. */
function isPoolExhausted(error: unknown): boolean {
  return messageOf(error).startsWith('timeout exceeded when trying to connect')
}

/** All settings of our connections that differ from the server's. */
export function sessionSettings(options: Omit<DbOptions, 'url' | 'poolSize' | 'applicationName'>): SessionSettings {
  const { schema = DEFAULT_SCHEMA, lockTimeoutMs = 10_000, statementTimeoutMs = STATEMENT_TIMEOUT_MS } = options
  const { idleInTransactionMs = 60_000 } = options
  return {
    search_path: schema,
    jit: 'off',
    lock_timeout: String(lockTimeoutMs),
    statement_timeout: String(statementTimeoutMs),
    idle_in_transaction_session_timeout: String(idleInTransactionMs),
    ...(options.asynchronousCommit && { synchronous_commit: 'off' }),
    ...(options.genericPlans && { plan_cache_mode: 'force_generic_plan', enable_seqscan: 'off' }),
  }
}

async function runAlone<Row>(source: ConnectionSource, statement: Statement): Promise<Row[]> {
  const client = await takeConnection(source)
  let broken: Error | undefined
  try {
    return (await createPipeline(client, source.watch)(statement)).rows as Row[]
  } catch (error) {
    if (isConnectionLoss(error)) broken = error as Error
    throw error
  } finally {
    client.release(broken)
  }
}

async function runTransaction<Result>(source: ConnectionSource, work: (tx: Tx) => Promise<Result>): Promise<Result> {
  const client = await takeConnection(source)
  const ask = createPipeline(client, source.watch)
  const unsettled: Promise<unknown>[] = []
  const effects: (() => void)[] = []
  let hasEnded = false
  const send = (statement: Statement) => {
    const answer = ask(statement)
    answer.catch(() => {}) // handled where it is awaited
    return answer
  }
  const sendInside = (statement: Statement) => {
    if (hasEnded) throw new TransactionEnded(statement)
    const answer = send(statement)
    const settled = answer.then(() => {}) // releases the rows
    settled.catch(() => {})
    unsettled.push(settled)
    return answer
  }
  const tx: Tx = {
    brand: 'tx',
    connectedAt: connectedAt.get(client)!,
    query<Row>(statement: Statement) {
      const rows = sendInside(statement).then((answer) => answer.rows as Row[])
      // If two statements fail, the first failure is thrown and the second is never awaited; it must not end the process.
      rows.catch(() => {})
      return rows
    },
    send: (statement) => void sendInside(statement),
    afterCommit: (effect) => void effects.push(effect),
  }
  let broken: Error | undefined
  try {
    sendInside(BEGIN)
    const result = await work(tx)
    hasEnded = true
    await commit(send(COMMIT), unsettled)
    for (const effect of effects) effect()
    return result
  } catch (error) {
    hasEnded = true
    if (isConnectionLoss(error)) broken = error as Error
    else await send(ROLLBACK).catch((lost: Error) => (broken = lost))
    throw error
  } finally {
    client.release(broken)
  }
}

const CHECK: Statement = { text: 'select 1', name: 'check' }
const BEGIN: Statement = { text: 'begin', name: 'begin' }
const COMMIT: Statement = { text: 'commit', name: 'commit' }
const ROLLBACK: Statement = { text: 'rollback', name: 'rollback' }

async function commit(committing: Promise<StatementResult>, unsettled: Promise<unknown>[]): Promise<void> {
  let failure: unknown
  for (const answer of unsettled) await answer.catch((reason) => (failure ??= reason))
  // If the server refused a statement, COMMIT rolled back. If an answer was lost, the outcome of COMMIT is unknown.
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

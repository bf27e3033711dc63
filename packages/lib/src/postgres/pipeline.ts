import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { ResponseWatch } from './stalled-connections.ts'

/**
 * One statement. A statement with a `name` (a hot one) is prepared once per connection; sql-template-tag's Sql is accepted
 * too.
 */
export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
}

export interface StatementResult {
  rows: unknown[]
  /** The command as the server reports it: `COMMIT`, `INSERT 0 1`. */
  command: string
}

export type Pipeline = (statement: Statement) => Promise<StatementResult>

/**
 * Runs the statements of one transaction on a connection, or one statement, in the order of the calls. The statements of
 * one turn of the event loop are sent in one write that ends in one Sync, so the server answers them in one write too. The
 * driver alone would wake both sides for each statement. If one statement fails, the statements after it in the same batch
 * are not run and fail with the same error.
 */
export function createPipeline(client: pg.PoolClient, watch: ResponseWatch<Connection>): Pipeline {
  let batch: PipelinedBatch | undefined
  const sendBatch = () => {
    if (batch) client.query(batch)
    batch = undefined
  }
  const add = (statement: Statement) => {
    if (!batch) {
      batch = new PipelinedBatch(watch)
      process.nextTick(sendBatch)
    }
    return batch.add(statement)
  }
  const rewrite = rewriters.get(client)?.()
  return (given) => {
    const rewritten = rewrite?.(given)
    const { before, statement } = rewritten ?? { before: undefined, statement: given }
    if (!isScript(statement)) {
      // If it fails, the statements after it fail with the same error.
      if (before) add(before).catch(() => {})
      return add(statement)
    }
    sendBatch()
    // Several statements in one message form one transaction.
    return runScript(client, watch, before ? `${before.text}; ${statement.text}` : statement.text)
  }
}

/** Changes a statement before it is sent. `before` is sent first, in the same transaction. */
export type StatementRewriter = (given: Statement) => { before?: Statement; statement: Statement }

const rewriters = new WeakMap<pg.ClientBase, () => StatementRewriter>()

/** Makes a session rewrite its statements. @param begin called for each transaction, and for each statement outside one */
export function rewriteStatements(client: pg.ClientBase, begin: () => StatementRewriter): void {
  rewriters.set(client, begin)
}

/** True if a text without name and values may contain several statements, which only the simple protocol accepts. */
function isScript({ name, values = [] }: Statement): boolean {
  return name === undefined && values.length === 0
}

async function runScript(
  client: pg.PoolClient,
  watch: ResponseWatch<Connection>,
  text: string,
): Promise<StatementResult> {
  const connection = connectionOf(client)
  watch.sent(connection)
  try {
    const results: pg.QueryResult | pg.QueryResult[] = await client.query(text)
    const { rows, command } = [results].flat().at(-1)!
    return { rows: rows.map(toCamelCaseRow), command }
  } finally {
    watch.completed(connection)
  }
}

interface PendingStatement {
  statement: Statement
  values: unknown[]
  result: StatementResult
  /** undefined until the server has described it; known from earlier runs for a named statement. */
  table: ResultTable | undefined
  resolve(result: StatementResult): void
  reject(failure: Error): void
}

interface ResultTable {
  columns: { name: string; parse(text: string): unknown }[]
  /**
   * A row of nulls, which every row starts as a copy of. An object to which more than twelve members are added one by one
   * becomes a hash table: a row of 27 columns took five times as long to build, and to collect as garbage.
   */
  emptyRow: Record<string, unknown>
}

/** The driver's connection as its queries use it; the driver's type declarations omit most of it. */
export interface Connection {
  readonly stream: Duplex
  /** Texts of prepared statements by name: those the server has, and those sent to it. */
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(statement: { statement: string; values: unknown[] }): void
  describe(portal: { type: 'P' }): void
  execute(): void
  sync(): void
}

/** Returns the client's connection, which the driver's type declarations omit. */
export function connectionOf(client: pg.PoolClient): Connection {
  return (client as unknown as { connection: Connection }).connection
}

interface FieldMessage {
  name: string
  dataTypeID: number
}

/** The parts of the driver's query class that PipelinedBatch replaces. */
declare class DriverQuery extends EventEmitter {
  constructor(text: string)
  name: string | undefined
  text: string
  readonly submit: (connection: pg.Connection) => void
}

/**
 * Several statements that the driver treats as one query. `name` and `text` always show the statement that is being
 * answered, because the driver records prepared statements by them. A named statement always returns the same columns
 * (the server refuses to run a plan whose result type has changed), so they are described once per connection.
 */
class PipelinedBatch extends (pg.Query as unknown as typeof DriverQuery) {
  readonly #statements: PendingStatement[] = []
  readonly #watch: ResponseWatch<Connection>
  #current = 0
  #isPending = false

  constructor(watch: ResponseWatch<Connection>) {
    super('')
    this.#watch = watch
  }

  add(statement: Statement): Promise<StatementResult> {
    checkName(statement)
    const values = (statement.values ?? []).map(prepareValue) // fails before anything is sent
    return new Promise((resolve, reject) => {
      this.#statements.push({
        statement,
        values,
        table: undefined,
        result: { rows: [], command: '' },
        resolve,
        reject,
      })
    })
  }

  override readonly submit = (connection: unknown) => this.#send(connection as Connection)

  #send(connection: Connection): null {
    this.#watch.sent(connection)
    this.#isPending = true
    this.#setCurrent(0)
    connection.stream.cork()
    for (const pending of this.#statements) {
      const { name = '', text } = pending.statement
      if (!(name in connection.parsedStatements || name in connection.submittedNamedStatements)) {
        connection.parse({ name, text })
        if (name !== '') connection.submittedNamedStatements[name] = text
      }
      connection.bind({ statement: name, values: pending.values })
      pending.table = tablesByName(connection).get(name)
      if (!pending.table) connection.describe({ type: 'P' })
      connection.execute()
    }
    connection.sync()
    connection.stream.uncork()
    return null
  }

  #setCurrent(index: number): void {
    this.#current = index
    const statement = this.#statements[index]?.statement
    this.name = statement?.name
    this.text = statement?.text ?? ''
  }

  handleRowDescription({ fields }: { fields: FieldMessage[] }): void {
    this.#statements[this.#current]!.table = tableOf(fields)
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { table, result } = this.#statements[this.#current]!
    const { columns, emptyRow } = table!
    const row = { ...emptyRow }
    for (let index = 0; index < fields.length; index++) {
      const text = fields[index]
      if (text == null) continue
      const { name, parse } = columns[index]!
      row[name] = parse(text)
    }
    result.rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    const { statement, result, table = NO_COLUMNS } = this.#statements[this.#current]!
    this.#watch.received(connection)
    result.command = text
    if (statement.name) tablesByName(connection).set(statement.name, table)
    this.#setCurrent(this.#current + 1)
  }

  handleReadyForQuery(connection: Connection): void {
    this.#watch.completed(connection)
    for (const { resolve, result } of this.#statements) resolve(result)
  }

  /**
   * Fails the current statement, which the server refused or whose answer was lost with the connection, and all after it.
   * If all statements have been answered, the failure may be the implicit commit of a statement outside a transaction,
   * which comes with Sync: then none counts as done.
   */
  handleError(failure: Error, connection: Connection): void {
    if (this.#isPending) this.#watch.completed(connection)
    this.#isPending = false
    const answered = this.#current < this.#statements.length ? this.#current : 0
    for (const [index, { statement, resolve, reject, result }] of this.#statements.entries()) {
      if (index < answered) resolve(result)
      else {
        reject(failure)
        if (statement.name) delete connection.submittedNamedStatements[statement.name]
      }
    }
  }
}

/** Column `tenant_id` becomes member `tenantId`. */
function camelCase(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function toCamelCaseRow(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [camelCase(column), value]))
}

const textsByName = new Map<string, string>()

/** Refuses two texts under one name, which is a bug: the server would run the first one prepared. */
function checkName({ name, text }: Statement): void {
  if (!name) return
  const known = textsByName.get(name)
  if (known === undefined) textsByName.set(name, text)
  else if (known !== text) throw new Error(`two different statements are named ${name}`)
}

const NO_COLUMNS: ResultTable = { columns: [], emptyRow: {} }

function tableOf(fields: readonly FieldMessage[]): ResultTable {
  const columns = fields.map(({ name, dataTypeID }) => ({ name: camelCase(name), parse: getTypeParser(dataTypeID) }))
  // JSON.parse creates all members together; added one by one, they would make the object a hash table.
  const emptyRow = JSON.parse(`{${columns.map(({ name }) => `${JSON.stringify(name)}:null`).join()}}`)
  return { columns, emptyRow }
}

const tablesOfConnections = new WeakMap<Connection, Map<string, ResultTable>>()

function tablesByName(connection: Connection): Map<string, ResultTable> {
  const known = tablesOfConnections.get(connection) ?? new Map<string, ResultTable>()
  tablesOfConnections.set(connection, known)
  return known
}

/** Converts parameters as the driver does; its type declarations omit the function. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils

const INT8 = 20
const DATE = 1082

/** bigint becomes BigInt and dates stay text (`2026-11-21`); the driver parses the other types. */
export function getTypeParser(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (format !== 'binary') {
    if (oid === INT8) return BigInt
    if (oid === DATE) return String
  }
  return pg.types.getTypeParser(oid, format as 'text')
}

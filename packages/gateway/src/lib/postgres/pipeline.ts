import type { EventEmitter } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'
import type { StalledConnections } from './stalled-connections.ts'

/** One statement. With a `name` it is prepared once per connection (hot statements); sql-template-tag's Sql fits too. */
export interface Statement {
  readonly text: string
  readonly values?: readonly unknown[]
  readonly name?: string
}

export interface StatementResult {
  rows: unknown[]
  /** As the server reports it: `COMMIT`, `INSERT 0 1`. */
  command: string
}

export type Pipeline = (statement: Statement) => Promise<StatementResult>

/**
 * Asks over one connection, in the order of the calls. What one turn of the event loop asks goes out in one write and
 * ends in one Sync, so that the server answers it in one, too: by the driver's own way each statement wakes both sides.
 * Of statements that went together, those behind one that fails are not run and fail like it.
 */
export function createPipeline(client: pg.PoolClient, silence: StalledConnections<Connection>): Pipeline {
  let gathering: PipelinedBatch | undefined
  const leave = () => {
    if (gathering) client.query(gathering)
    gathering = undefined
  }
  return (statement) => {
    if (isScript(statement)) {
      leave()
      return runScript(client, statement)
    }
    if (!gathering) {
      gathering = new PipelinedBatch(silence)
      process.nextTick(leave)
    }
    return gathering.add(statement)
  }
}

/** Without name and values a text may be several statements: only the simple protocol takes those. */
function isScript({ name, values = [] }: Statement): boolean {
  return name === undefined && values.length === 0
}

async function runScript(client: pg.PoolClient, { text }: Statement): Promise<StatementResult> {
  const { rows, command } = await client.query(text)
  return { rows: rows.map(inCamelCase), command }
}

interface PendingStatement {
  statement: Statement
  values: unknown[]
  result: StatementResult
  /** undefined until the server has described them; known from earlier ones of its name. */
  columns: Column[] | undefined
  resolve(answer: StatementResult): void
  reject(failure: Error): void
}

interface Column {
  name: string
  parse(text: string): unknown
}

/** What the driver's connection is for its queries; its declarations leave most of it out. */
export interface Connection {
  readonly stream: Duplex
  /** Texts of prepared statements by name: those that the server has, and those that are on their way to it. */
  readonly parsedStatements: Record<string, string>
  readonly submittedNamedStatements: Record<string, string>
  parse(statement: { name: string; text: string }): void
  bind(statement: { statement: string; values: unknown[] }): void
  describe(portal: { type: 'P' }): void
  execute(): void
  sync(): void
}

interface FieldMessage {
  name: string
  dataTypeID: number
}

/** The driver's query, as far as we take its place. */
declare class DriverQuery extends EventEmitter {
  constructor(text: string)
  name: string | undefined
  text: string
  readonly submit: (connection: pg.Connection) => void
}

/**
 * Several statements that are one query to the driver. It is told which of them is being answered by `name` and `text`,
 * because it keeps the book of what is prepared. What comes back under a name always has the same columns (the server
 * refuses to run a plan whose result has changed), so they are described once.
 */
class PipelinedBatch extends (pg.Query as unknown as typeof DriverQuery) {
  readonly #asked: PendingStatement[] = []
  readonly #silence: StalledConnections<Connection>
  #answering = 0
  #isDue = false

  constructor(silence: StalledConnections<Connection>) {
    super('')
    this.#silence = silence
  }

  add(statement: Statement): Promise<StatementResult> {
    checkName(statement)
    const values = (statement.values ?? []).map(prepareValue) // fails here, before anything has left
    return new Promise((resolve, reject) => {
      this.#asked.push({ statement, values, columns: undefined, result: { rows: [], command: '' }, resolve, reject })
    })
  }

  override readonly submit = (connection: unknown) => this.#send(connection as Connection)

  #send(connection: Connection): null {
    this.#silence.sent(connection)
    this.#isDue = true
    this.#turnTo(0)
    connection.stream.cork()
    for (const asked of this.#asked) {
      const { name = '', text } = asked.statement
      if (!(name in connection.parsedStatements || name in connection.submittedNamedStatements)) {
        connection.parse({ name, text })
        if (name !== '') connection.submittedNamedStatements[name] = text
      }
      connection.bind({ statement: name, values: asked.values })
      asked.columns = columnsOn(connection).get(name)
      if (!asked.columns) connection.describe({ type: 'P' })
      connection.execute()
    }
    connection.sync()
    connection.stream.uncork()
    return null
  }

  #turnTo(index: number): void {
    this.#answering = index
    const statement = this.#asked[index]?.statement
    this.name = statement?.name
    this.text = statement?.text ?? ''
  }

  handleRowDescription({ fields }: { fields: FieldMessage[] }): void {
    this.#asked[this.#answering]!.columns = fields.map(({ name, dataTypeID }) => ({
      name: camelCase(name),
      parse: parserOf(dataTypeID),
    }))
  }

  handleDataRow({ fields }: { fields: (string | null)[] }): void {
    const { columns, result } = this.#asked[this.#answering]!
    const row: Record<string, unknown> = {}
    for (let index = 0; index < fields.length; index++) {
      const { name, parse } = columns![index]!
      const text = fields[index]!
      row[name] = text === null ? null : parse(text)
    }
    result.rows.push(row)
  }

  handleCommandComplete({ text }: { text: string }, connection: Connection): void {
    const { statement, result, columns = [] } = this.#asked[this.#answering]!
    this.#silence.received(connection)
    result.command = text
    if (statement.name !== undefined) columnsOn(connection).set(statement.name, columns)
    this.#turnTo(this.#answering + 1)
  }

  handleReadyForQuery(connection: Connection): void {
    this.#silence.completed(connection)
    for (const { resolve, result } of this.#asked) resolve(result)
  }

  /**
   * The server refused the statement that is being answered, or the connection was lost. Where all were answered it may
   * be the commit of a statement outside of a transaction that failed, which comes with the Sync: none counts as done.
   */
  handleError(failure: Error, connection: Connection): void {
    if (this.#isDue) this.#silence.completed(connection)
    this.#isDue = false
    const answered = this.#answering < this.#asked.length ? this.#answering : 0
    for (const [index, { statement, resolve, reject, result }] of this.#asked.entries()) {
      if (index < answered) resolve(result)
      else {
        reject(failure)
        if (statement.name !== undefined) delete connection.submittedNamedStatements[statement.name]
      }
    }
  }
}

/** The column tenant_id is the member tenantId of a row. */
function camelCase(column: string): string {
  return column.replace(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase())
}

function inCamelCase(row: Record<string, unknown>): Record<string, unknown> {
  return Object.fromEntries(Object.entries(row).map(([column, value]) => [camelCase(column), value]))
}

const textsByName = new Map<string, string>()

/** The text that was prepared first would be run for the other. */
function checkName({ name, text }: Statement): void {
  if (name === undefined) return
  const known = textsByName.get(name)
  if (known === undefined) textsByName.set(name, text)
  else if (known !== text) throw new Error(`two statements are named ${name}`)
}

const described = new WeakMap<Connection, Map<string, Column[]>>()

function columnsOn(connection: Connection): Map<string, Column[]> {
  const known = described.get(connection) ?? new Map<string, Column[]>()
  described.set(connection, known)
  return known
}

/** Texts of parameters as the driver writes them; its declarations forget it. */
const { prepareValue } = (pg as unknown as { utils: { prepareValue(value: unknown): unknown } }).utils

const INT8 = 20
const DATE = 1082

/** bigint columns are BigInt, dates stay text (`2026-11-21`), the rest as the driver does. */
export function parserOf(oid: number, format?: 'text' | 'binary'): (text: string) => unknown {
  if (format !== 'binary') {
    if (oid === INT8) return BigInt
    if (oid === DATE) return String
  }
  return pg.types.getTypeParser(oid, format as 'text')
}

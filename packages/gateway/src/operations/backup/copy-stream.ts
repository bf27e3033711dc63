import { once } from 'node:events'
import type { Writable } from 'node:stream'
import type pg from 'pg'

/*
 * COPY in the text format, as streams. The driver passes the messages of COPY on to the query that it runs, and has no more
 * support for it.
 */

/** The part of the driver's connection that COPY needs. */
interface CopyConnection {
  stream: Writable & { pause(): void; resume(): void }
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
  sendCopyFail(reason: string): void
}

/** Rows are passed on in pieces of about this size, because the server sends each row as a separate message. */
const PIECE_BYTES = 256 * 1024
/** While this many pieces are queued, nothing more is read from the server. */
const PIECES_MAX = 8

/** The methods that the driver calls on the query that it runs. */
abstract class CopyQuery {
  readonly #text: string
  readonly completed: Promise<number>
  #rows = 0
  #error: Error | undefined
  #resolve!: (rows: number) => void
  #reject!: (error: Error) => void

  constructor(text: string) {
    this.#text = text
    this.completed = new Promise((resolve, reject) => {
      this.#resolve = resolve
      this.#reject = reject
    })
    this.completed.catch(() => {}) // the iteration throws it as well
  }

  submit(connection: CopyConnection): void {
    connection.query(this.#text)
  }

  /** `COPY 123` */
  handleCommandComplete({ text }: { text: string }): void {
    this.#rows = Number(/^COPY (\d+)$/.exec(text)?.[1] ?? Number.NaN)
  }

  handleError(error: Error): void {
    this.#error = error
    this.failed(error)
    this.#reject(error)
  }

  handleReadyForQuery(): void {
    if (this.#error !== undefined) return
    this.#resolve(this.#rows)
    this.ended()
  }

  handleRowDescription(): void {}
  handleDataRow(): void {}
  handleEmptyQuery(): void {}

  protected abstract failed(error: Error): void
  protected abstract ended(): void
}

class CopyOut extends CopyQuery {
  #pieces: Buffer[] = []
  #rows: Buffer[] = []
  #bytes = 0
  #isEnded = false
  #error: Error | undefined
  #wake = () => {}
  #paused: CopyConnection | undefined

  handleCopyData({ chunk }: { chunk: Buffer }, connection: CopyConnection): void {
    this.#rows.push(Buffer.from(chunk)) // the driver uses its memory again
    this.#bytes += chunk.length
    if (this.#bytes < PIECE_BYTES) return
    this.#cut()
    if (this.#pieces.length < PIECES_MAX) return
    this.#paused = connection
    connection.stream.pause()
  }

  #cut(): void {
    if (this.#rows.length > 0) this.#pieces.push(Buffer.concat(this.#rows))
    this.#rows = []
    this.#bytes = 0
    this.#wake()
  }

  protected failed(error: Error): void {
    this.#error = error
    this.#wake()
  }

  protected ended(): void {
    this.#cut()
    this.#isEnded = true
    this.#wake()
  }

  async *pieces(): AsyncGenerator<Buffer, number> {
    for (;;) {
      const piece = this.#pieces.shift()
      if (piece !== undefined) {
        yield piece
        continue
      }
      if (this.#error !== undefined) throw this.#error
      if (this.#isEnded) return await this.completed
      this.#paused?.stream.resume()
      this.#paused = undefined
      await new Promise<void>((resolve) => {
        this.#wake = resolve
      })
    }
  }
}

/** Runs `copy … to stdout`: yields rows, several at a time. @returns how many there were */
export function copyOut(client: pg.Client, text: string): AsyncGenerator<Buffer, number> {
  const query = new CopyOut(text)
  client.query(query as unknown as pg.Submittable)
  return query.pieces()
}

class CopyIn extends CopyQuery {
  #connection: CopyConnection | undefined
  #ready!: () => void
  readonly ready = new Promise<void>((resolve) => {
    this.#ready = resolve
  })

  handleCopyInResponse(connection: CopyConnection): void {
    this.#connection = connection
    this.#ready()
  }

  protected failed(): void {
    this.#connection = undefined
    this.#ready()
  }
  protected ended(): void {}

  /** The connection is gone once the server has refused a row: `completed` says why. */
  get connection(): CopyConnection | undefined {
    return this.#connection
  }
}

/** Runs `copy … from stdin` with these pieces. @returns how many rows it inserted */
export async function copyIn(client: pg.Client, text: string, pieces: AsyncIterable<Buffer>): Promise<number> {
  const query = new CopyIn(text)
  client.query(query as unknown as pg.Submittable)
  await query.ready
  try {
    for await (const piece of pieces) {
      if (query.connection === undefined) break
      const { stream } = query.connection
      query.connection.sendCopyFromChunk(piece)
      if (stream.writableNeedDrain) await Promise.race([once(stream, 'drain'), query.completed])
    }
  } catch (error) {
    query.connection?.sendCopyFail('its source failed')
    throw error
  }
  query.connection?.endCopyFrom()
  return await query.completed
}

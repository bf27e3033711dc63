import { once } from 'node:events'
import type { Duplex } from 'node:stream'
import pg from 'pg'

/** The connection that pg passes to a query during a COPY. */
interface CopyConnection {
  stream: Duplex
  query(text: string): void
  sendCopyFromChunk(chunk: Buffer): void
  endCopyFrom(): void
}

const CHUNK_ROWS = 2_000

/** Copies rows (lines of COPY's text format) into a table, as fast as the server accepts them. */
export async function copyRows(url: string, into: string, rows: Iterable<string>): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  client.on('error', () => {}) // a lost connection makes the copy fail
  await client.connect()
  try {
    await new Promise<void>((resolve, reject) => {
      const copy = {
        submit: (connection: CopyConnection) => connection.query(`copy ${into} from stdin`),
        handleCopyInResponse: (connection: CopyConnection) => void send(connection, rows).catch(reject),
        handleCommandComplete() {},
        handleReadyForQuery: () => resolve(),
        handleError: (error: Error) => reject(error),
      }
      client.query(copy as unknown as pg.Submittable)
    })
  } finally {
    await client.end()
  }
}

async function send(connection: CopyConnection, rows: Iterable<string>): Promise<void> {
  let lines: string[] = []
  const flush = async () => {
    connection.sendCopyFromChunk(Buffer.from(`${lines.join('\n')}\n`))
    lines = []
    if (connection.stream.writableNeedDrain) await once(connection.stream, 'drain')
  }
  for (const row of rows) {
    lines.push(row)
    if (lines.length === CHUNK_ROWS) await flush()
  }
  if (lines.length > 0) await flush()
  connection.endCopyFrom()
}

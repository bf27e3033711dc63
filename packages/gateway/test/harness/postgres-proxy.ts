import { type AddressInfo, createServer, connect as dial, type Socket } from 'node:net'

/** What happens to the next COMMIT that passes, on connections of one application. */
type CommitFate =
  /** The connection ends before the server hears of it: the transaction never happened. */
  | 'lost'
  /** The server commits, and the connection ends without its answer. */
  | 'unanswered'

/** Stands between a gateway and its PostgreSQL, speaks enough of the protocol to see a COMMIT, and cuts as told. */
export interface PostgresProxy {
  url: string
  /** Fates of the next commits, first come first served. */
  doom(applicationName: string, ...fates: CommitFate[]): void
  /** How many fates have been met. */
  readonly met: number
  /** While shut, new connections are refused by hanging up, and the open ones are cut. */
  shut(isShut: boolean): void
  /** From now on new connections are answered with an error of this SQLSTATE; undefined: no more. */
  refuse(sqlState: string | undefined): void
  /** Bytes stop flowing, both ways, on this application's connections; nobody is told. */
  freeze(applicationName: string): void
  close(): Promise<void>
}

export async function startPostgresProxy(targetUrl: string): Promise<PostgresProxy> {
  const target = new URL(targetUrl)
  const fates = new Map<string, CommitFate[]>()
  const frozen = new Set<string>()
  const sockets = new Set<Socket>()
  let met = 0
  let isShut = false
  let refusal: string | undefined

  const server = createServer((client) => {
    if (isShut) return void client.destroy()
    const refused = refusal
    if (refused !== undefined) return void client.once('data', () => client.end(errorResponse(refused)))
    const upstream = dial(Number(target.port), target.hostname)
    const both = [client, upstream]
    const cut = () => {
      for (const socket of both) socket.destroy()
    }
    for (const socket of both) {
      sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    const messages = frontendMessages()
    let applicationName = ''
    let swallowing = false
    client.on('data', (chunk) => {
      if (frozen.has(applicationName)) return
      for (const message of messages(chunk)) {
        applicationName ||= applicationOf(message)
        const fate = isCommit(message) ? fates.get(applicationName)?.shift() : undefined
        if (fate === 'lost') {
          met++
          return cut()
        }
        if (fate === 'unanswered') swallowing = true
        upstream.write(message)
      }
    })
    upstream.on('data', (chunk) => {
      if (frozen.has(applicationName)) return
      if (!swallowing) return void client.write(chunk)
      if (!chunk.includes('COMMIT\0')) return
      met++
      cut() // it has happened, and nobody will hear
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get met() {
      return met
    },
    doom: (applicationName, ...more) =>
      void fates.set(applicationName, [...(fates.get(applicationName) ?? []), ...more]),
    shut(shut) {
      isShut = shut
      if (shut) for (const socket of sockets) socket.destroy()
    },
    refuse(sqlState) {
      refusal = sqlState
    },
    freeze: (applicationName) => void frozen.add(applicationName),
    async close() {
      for (const socket of sockets) socket.destroy()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

function errorResponse(sqlState: string): Buffer {
  const fields = `SFATAL\0VFATAL\0C${sqlState}\0Mrefused by the test\0\0`
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + fields.length)
  return Buffer.concat([Buffer.from('E'), length, Buffer.from(fields)])
}

/** Cuts the client's bytes into messages: the first (start-up) has no type byte. */
function frontendMessages(): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const whole: Buffer[] = []
    for (;;) {
      const at = started ? 1 : 0
      if (rest.length < at + 4) return whole
      const length = at + rest.readInt32BE(at)
      if (rest.length < length) return whole
      whole.push(rest.subarray(0, length))
      rest = rest.subarray(length)
      started = true
    }
  }
}

function applicationOf(startup: Buffer): string {
  const parts = startup.toString('latin1').split('\0')
  const index = parts.findIndex((part) => part.endsWith('application_name'))
  return index < 0 ? '' : (parts[index + 1] ?? '')
}

/** A Bind of the prepared statement `commit`, or the simple query. */
function isCommit(message: Buffer): boolean {
  const type = String.fromCharCode(message[0] ?? 0)
  if (type === 'B') return message.subarray(5).toString('latin1').startsWith('\0commit\0')
  return type === 'Q' && message.subarray(5).toString('latin1').toLowerCase().startsWith('commit')
}

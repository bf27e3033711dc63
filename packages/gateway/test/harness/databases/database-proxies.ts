import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** Forwards small messages without waiting for acknowledgements, which would cost 40 ms per round trip. */
const AT_ONCE = { noDelay: true } as const

/** A TCP proxy in front of PostgreSQL that simulates network faults. */
export interface TcpProxy {
  /** The database URL through the proxy. */
  url: string
  /** Stops all data to clients whose first bytes (the startup message with the application name) contain the text. */
  freeze(text: string): void
  /**
   * Stops all data to current clients, as if their server's machine had died. New connections work, or with `alsoNew` are
   * not answered until `connectTo` is called.
   */
  freezeAll(options?: { alsoNew: boolean }): void
  /** New connections go to this database's server from now on. */
  connectTo(databaseUrl: string): void
  /** The number of frozen connections. */
  readonly frozenCount: number
  thaw(): void
  /** Closes all connections and refuses new ones until `restore`. */
  cut(): void
  restore(): void
  close(): Promise<void>
}

interface Pair {
  client: Socket
  server: Socket
  first: string
  isFrozen: boolean
}

/** @param rewrite changes what the server sends; must keep the number of bytes */
export async function startTcpProxy(
  databaseUrl: string,
  rewrite: (bytes: Buffer) => Buffer = (bytes) => bytes,
): Promise<TcpProxy> {
  let target = new URL(databaseUrl)
  let isGone = false
  const pairs = new Set<Pair>()
  let frozenText: string | undefined
  let isCut = false

  const proxy = createServer(AT_ONCE, (client) => {
    if (isCut) return void client.destroy()
    const pair: Pair = {
      client,
      server: connect({ port: Number(target.port), host: target.hostname, ...AT_ONCE }),
      first: '',
      isFrozen: isGone,
    }
    pairs.add(pair)
    relay(pair, client, pair.server)
    relay(pair, pair.server, client)
  })

  function relay(pair: Pair, from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (from === pair.client && pair.first === '') pair.first = chunk.toString('latin1')
      pair.isFrozen ||= frozenText !== undefined && pair.first.includes(frozenText)
      if (!pair.isFrozen) to.write(from === pair.server ? rewrite(chunk) : chunk)
    })
    from.on('error', () => {})
    from.on('close', () => {
      if (pair.isFrozen && from === pair.server) return // its client does not notice it
      pairs.delete(pair)
      to.destroy()
    })
  }

  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve))
  const url = new URL(databaseUrl)
  url.port = String((proxy.address() as AddressInfo).port)
  url.hostname = '127.0.0.1'
  const endAll = () => {
    for (const { client, server } of pairs) {
      client.destroy()
      server.destroy()
    }
  }
  return {
    url: url.href,
    freeze(text) {
      frozenText = text
      for (const pair of pairs) pair.isFrozen ||= pair.first.includes(text)
    },
    freezeAll({ alsoNew } = { alsoNew: false }) {
      isGone = alsoNew
      for (const pair of pairs) pair.isFrozen = true
    },
    connectTo(databaseUrl) {
      target = new URL(databaseUrl)
      isGone = false
    },
    get frozenCount() {
      return [...pairs].filter((pair) => pair.isFrozen).length
    },
    thaw() {
      frozenText = undefined
      for (const pair of pairs) if (pair.isFrozen) pair.client.destroy() // the data it missed is lost, so it must reconnect
    },
    cut() {
      isCut = true
      endAll()
    },
    restore() {
      isCut = false
    },
    async close() {
      endAll()
      await new Promise((resolve) => proxy.close(resolve))
    },
  }
}

/** The fault on the next COMMIT of an application. */
type CommitFault =
  /** The connection breaks before COMMIT reaches the server: the transaction is rolled back. */
  | 'lost'
  /** The server commits, but the connection breaks before its answer. */
  | 'unanswered'

/** A proxy that understands enough of the PostgreSQL protocol to break connections on a COMMIT. */
export interface PostgresProxy {
  url: string
  /** Faults for the next commits, in order. */
  failCommits(applicationName: string, ...faults: CommitFault[]): void
  /** The number of faults that have happened. */
  readonly faultCount: number
  /** While closed, open connections are cut and new ones are closed immediately. */
  setClosed(isClosed: boolean): void
  /** Refuses new connections with this SQLSTATE; undefined: accepts them again. */
  refuse(sqlState: string | undefined): void
  /** Silently stops data in both directions on this application's connections. */
  freeze(applicationName: string): void
  close(): Promise<void>
}

export async function startPostgresProxy(targetUrl: string): Promise<PostgresProxy> {
  const target = new URL(targetUrl)
  const faults = new Map<string, CommitFault[]>()
  const frozen = new Set<string>()
  const sockets = new Set<Socket>()
  let met = 0
  let isClosed = false
  let refusal: string | undefined

  const server = createServer(AT_ONCE, (client) => {
    if (isClosed) return void client.destroy()
    const refused = refusal
    if (refused !== undefined) return void client.once('data', () => client.end(errorResponse(refused)))
    const upstream = connect({ port: Number(target.port), host: target.hostname, ...AT_ONCE })
    const pair = [client, upstream]
    const cut = () => {
      for (const socket of pair) socket.destroy()
    }
    for (const socket of pair) {
      sockets.add(socket)
      socket.on('error', cut)
      socket.on('close', () => {
        sockets.delete(socket)
        cut()
      })
    }
    const messages = frontendMessages()
    let applicationName = ''
    let isWithholding = false
    client.on('data', (chunk) => {
      if (frozen.has(applicationName)) return
      for (const message of messages(chunk)) {
        applicationName ||= applicationOf(message)
        const fault = isCommit(message) ? faults.get(applicationName)?.shift() : undefined
        if (fault === 'lost') {
          met++
          return cut()
        }
        if (fault === 'unanswered') isWithholding = true
        upstream.write(message)
      }
    })
    upstream.on('data', (chunk) => {
      if (frozen.has(applicationName)) return
      if (!isWithholding) return void client.write(chunk)
      if (!chunk.includes('COMMIT\0')) return
      met++
      cut() // committed, but the client gets no answer
    })
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = new URL(targetUrl)
  url.hostname = '127.0.0.1'
  url.port = String((server.address() as AddressInfo).port)
  return {
    url: url.href,
    get faultCount() {
      return met
    },
    failCommits: (applicationName, ...more) =>
      void faults.set(applicationName, [...(faults.get(applicationName) ?? []), ...more]),
    setClosed(closed) {
      isClosed = closed
      if (closed) for (const socket of sockets) socket.destroy()
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
  const [severity, message] = ['FATAL', 'refused by the test']
  const fields = `S${severity}\0V${severity}\0C${sqlState}\0M${message}\0\0`
  const length = Buffer.alloc(4)
  length.writeInt32BE(4 + fields.length)
  return Buffer.concat([Buffer.from('E'), length, Buffer.from(fields)])
}

/** Splits the client's bytes into messages. The first, the startup message, has no type byte. */
function frontendMessages(): (chunk: Buffer) => Buffer[] {
  let rest: Buffer = Buffer.alloc(0)
  let started = false
  return (chunk) => {
    rest = Buffer.concat([rest, chunk])
    const complete: Buffer[] = []
    for (;;) {
      const at = started ? 1 : 0
      if (rest.length < at + 4) return complete
      const length = at + rest.readInt32BE(at)
      if (rest.length < length) return complete
      complete.push(rest.subarray(0, length))
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

/** A Bind message for the prepared statement `commit`, or the simple query. */
function isCommit(message: Buffer): boolean {
  const type = String.fromCharCode(message[0] ?? 0)
  if (type === 'B') return message.subarray(5).toString('latin1').startsWith('\0commit\0')
  return type === 'Q' && message.subarray(5).toString('latin1').toLowerCase().startsWith('commit')
}

import { type AddressInfo, connect, createServer, type Socket } from 'node:net'

/** A TCP proxy before a PostgreSQL, with which a test makes the network misbehave. */
export interface TcpProxy {
  /** The database's URL, by way of the proxy. */
  url: string
  /** Connections whose first bytes (the startup message holds the application's name) contain the text hear nothing more. */
  freeze(text: string): void
  /** Connections of this moment hear nothing more, as when their server's machine has died; new ones are well. */
  silence(): void
  /** How many connections are frozen. */
  readonly frozen: number
  thaw(): void
  /** Ends all connections and takes no new ones until `restore`. */
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

/** @param retell what the server says, in as many bytes, as its clients are to hear it */
export async function startTcpProxy(
  databaseUrl: string,
  retell: (said: Buffer) => Buffer = (said) => said,
): Promise<TcpProxy> {
  const target = new URL(databaseUrl)
  const pairs = new Set<Pair>()
  let frozenText: string | undefined
  let isCut = false

  const proxy = createServer((client) => {
    if (isCut) return void client.destroy()
    const pair: Pair = {
      client,
      server: connect(Number(target.port), target.hostname),
      first: '',
      isFrozen: false,
    }
    pairs.add(pair)
    relay(pair, client, pair.server)
    relay(pair, pair.server, client)
  })

  function relay(pair: Pair, from: Socket, to: Socket): void {
    from.on('data', (chunk: Buffer) => {
      if (from === pair.client && pair.first === '') pair.first = chunk.toString('latin1')
      pair.isFrozen ||= frozenText !== undefined && pair.first.includes(frozenText)
      if (!pair.isFrozen) to.write(from === pair.server ? retell(chunk) : chunk)
    })
    from.on('error', () => {})
    from.on('close', () => {
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
    silence() {
      for (const pair of pairs) pair.isFrozen = true
    },
    get frozen() {
      return [...pairs].filter((pair) => pair.isFrozen).length
    },
    thaw() {
      frozenText = undefined
      for (const pair of pairs) if (pair.isFrozen) pair.client.destroy() // what it missed is lost: a new one is due
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

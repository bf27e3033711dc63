import pg from 'pg'
import { type DatabaseAddress, parseDatabaseUrl } from '../database-url.ts'

/*
 * A DATABASE_URL may list the servers of a primary and its standbys, in the form of libpq:
 * `postgres://user:password@one:5432,two:5432/database?target_session_attrs=read-write`. Connections are made to the server
 * that accepts writes.
 * Two servers may accept writes at the same time: a primary that is cut off from the others does not know that its standby
 * was promoted. It cannot complete the commit of an order without that standby, but it answers everything else, so its
 * connections seem to be in order. The promoted server has the higher timeline, and only that server is used.
 */

interface Servers extends DatabaseAddress {
  /** Index of the server to which the next connection is made. */
  current: number
  /** The highest timeline of a server that accepts writes; 0 until one is known. */
  timeline: number
  /** `host:port` of the node that has the distributed schema, to which connections are made. */
  home?: string | undefined
}

const ROLE_TIMEOUT_MS = 5_000
const PROBE_TIMEOUT_MS = 3_000

/** Servers by URL and schema: a process's connections share what they learn about which server is the primary. */
const known = new Map<string, Servers>()

function keyOf(url: string, schema = ''): string {
  return `${schema} ${url}`
}

/**
 * The class of clients for this URL: each connects to the server that was last found to accept writes. With a schema, it
 * connects to the node to which the schema has moved (distributed-schema.ts).
 */
export function clientFor(url: string, schema?: string): typeof pg.Client {
  const key = keyOf(url, schema)
  const servers = known.get(key) ?? { ...parseDatabaseUrl(url), current: 0, timeline: 0 }
  known.set(key, servers)
  if (servers.urls.length === 1 && !servers.isPrimaryRequired && schema === undefined) return pg.Client
  return class ServerClient extends pg.Client {
    readonly #index = servers.current
    readonly #home = servers.home

    constructor(config: pg.ClientConfig) {
      const { home, urls, current } = servers
      super({ ...config, connectionString: home === undefined ? urls[current]! : withHost(urls[0]!, home) })
      if (schema !== undefined) following.set(this as pg.Client, { servers, home })
      // A connection may be lost while its server's role is checked, which `connect` reports. The pool listens only afterwards.
      this.on('error', () => {})
    }

    override connect(): Promise<pg.Client>
    override connect(callback: (error: Error) => void): void
    override connect(callback?: (error: Error) => void): Promise<pg.Client> | undefined {
      const connecting = this.#connectToPrimary()
      if (callback === undefined) return connecting.then(() => this as pg.Client)
      connecting.then(() => (callback as () => void)(), callback) // pg-pool
      return undefined
    }

    async #connectToPrimary(): Promise<void> {
      try {
        await super.connect()
        if (servers.isPrimaryRequired) await requirePrimary(this as pg.Client, servers, this.#home !== undefined)
      } catch (error) {
        void this.end() // not awaited: a server that has vanished never answers
        // Connections made simultaneously fail together: only the first of them switches to the next server.
        if (this.#home !== undefined) {
          if (servers.home === this.#home) servers.home = undefined
        } else if (servers.current === this.#index) servers.current = (this.#index + 1) % servers.urls.length
        throw error
      }
    }
  }
}

/** How many servers the URL lists. */
export function countServers(url: string): number {
  return parseDatabaseUrl(url).urls.length
}

/** Opens a connection outside any pool, to the first server that accepts it. */
export async function connectClient(
  url: string,
  options: Omit<pg.ClientConfig, 'connectionString'>,
): Promise<pg.Client> {
  const Client = clientFor(url)
  for (let left = countServers(url) - 1; ; left--) {
    const client = new Client({ ...options, connectionString: url })
    client.on('error', () => {}) // statements on the connection report it
    try {
      await client.connect()
      return client
    } catch (error) {
      if (left <= 0) throw error
    }
  }
}

/** True if a server was promoted since the connection was made, or if the schema has moved to another node since. */
export function isOutdated(client: pg.ClientBase): boolean {
  const made = timelineOf.get(client)
  const follower = following.get(client)
  return (
    (made !== undefined && made.timeline < made.servers.timeline) ||
    (follower !== undefined && follower.home !== follower.servers.home)
  )
}

const following = new WeakMap<pg.ClientBase, Pick<Servers, 'home'> & { servers: Servers }>()

/** True if the client was made for a schema, and so connects to the node that has it. */
export function isFollowing(client: pg.ClientBase): boolean {
  return following.has(client)
}

/**
 * Directs the next connections for the client's schema to another node, and ends the session.
 * @param address `host:port`
 * @throws SchemaElsewhere
 */
export function directTo(client: pg.ClientBase, address: string): never {
  const follower = following.get(client)
  if (follower) follower.servers.home = address
  throw new SchemaElsewhere(address)
}

/** The schema was found on another node. The next connection is made to that node. */
export class SchemaElsewhere extends Error {
  override readonly name = 'SchemaElsewhere'
  constructor(address: string) {
    super(`Connection terminated: the schema is on another node, ${address}`)
  }
}

function withHost(text: string, address: string): string {
  const url = new URL(text)
  url.host = address
  return url.href
}

const timelineOf = new WeakMap<pg.ClientBase, { servers: Servers; timeline: number }>()

/**
 * Checks whether one of the listed servers to which no connections are made was promoted. If so, the next connections are
 * made to it.
 */
export async function findPromoted(url: string, schema: string): Promise<void> {
  const servers = known.get(keyOf(url, schema))
  if (!servers || servers.timeline === 0) return
  const probes = servers.urls.map(async (each, index) => {
    if (index === servers.current) return
    const client = new pg.Client({
      connectionString: each,
      application_name: 'dealer-esim probe',
      connectionTimeoutMillis: PROBE_TIMEOUT_MS,
      query_timeout: PROBE_TIMEOUT_MS,
    })
    client.on('error', () => {}) // statements on the connection report it
    try {
      await client.connect()
      const timeline = (await acceptsWrites(client)) ? await readTimeline(client) : 0
      if (timeline <= servers.timeline) return
      servers.timeline = timeline
      servers.current = index
    } catch {
      // The server is unreachable.
    } finally {
      void client.end()
    }
  })
  await Promise.all(probes)
}

/** @throws Error with the state of a server that is not the primary */
async function requirePrimary(client: pg.Client, servers: Servers, isHome: boolean): Promise<void> {
  if (!(await acceptsWrites(client)))
    throw new Error('Connection terminated: the server is a standby, which does not accept writes')
  if (servers.urls.length === 1 || isHome) return
  const timeline = await readTimeline(client)
  if (timeline === 0) return
  if (timeline < servers.timeline)
    throw new Error(
      'Connection terminated: another server was promoted in place of this one. If the database was restored, restart the gateway',
    )
  servers.timeline = timeline
  timelineOf.set(client, { servers, timeline })
}

async function acceptsWrites(client: pg.Client): Promise<boolean> {
  const query = { text: 'show transaction_read_only', query_timeout: ROLE_TIMEOUT_MS } as pg.QueryConfig
  const { rows } = await client.query<{ transaction_read_only: string }>(query)
  return rows[0]?.transaction_read_only === 'off'
}

/** Reads the server's timeline, which each promotion increments. @returns 0 if the server refuses, as some managed ones do */
async function readTimeline(client: pg.Client): Promise<number> {
  const text = 'select left(pg_walfile_name(pg_current_wal_lsn()), 8) as timeline'
  const query = { text, query_timeout: ROLE_TIMEOUT_MS } as pg.QueryConfig
  const { rows } = await client.query<{ timeline: string }>(query).catch((error: unknown) => {
    if (error instanceof pg.DatabaseError) return { rows: [] }
    throw error
  })
  return Number.parseInt(rows[0]?.timeline ?? '0', 16)
}

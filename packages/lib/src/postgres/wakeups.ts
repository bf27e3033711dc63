import { setTimeout as delay } from 'node:timers/promises'
import type pg from 'pg'
import type { Clock } from '#clock.ts'
import type { Statement } from './pipeline.ts'
import { DEFAULT_SCHEMA, wakeupChannel } from './schema.ts'
import { clientFor, isOutdated } from './servers.ts'
import { applySettings, CONNECT_TIMEOUT_MS } from './session-settings.ts'

/**
 * Wakes the background loops that listen to a topic: on this node directly, on other nodes by NOTIFY. A node wakes its own
 * loops whenever it starts listening, and every loop also polls, so a lost wakeup only delays work. Wakeups within a few
 * milliseconds share one NOTIFY. It is sent outside the transaction that caused the work, because NOTIFY takes a
 * database-wide lock at commit.
 */
export interface Wakeups<Topic extends string = string> {
  /** @param keys the owners of the new work, if the caller knows all of them: this node's loops then need not search for it */
  wake(topic: Topic, keys?: readonly string[]): void
  /** The listener receives no keys if the work may belong to any key, as after a wakeup from another node. */
  on(topic: Topic, listener: (keys?: readonly string[]) => void): () => void
  stop(): Promise<void>
}

const COALESCE_MS = 5
const RECONNECT_MS = 1_000
/** A server that does not answer such a small statement in this time is dead, or was replaced. */
const NOTIFY_TIMEOUT_MS = 5_000

export interface WakeupOptions {
  url: string
  /** Nodes wake only nodes that use the same schema. */
  schema?: string
  nodeId: string
  applicationName?: string
  onError(error: Error): void
}

export function createWakeups<Topic extends string>(options: WakeupOptions): Wakeups<Topic> {
  const listeners = new Map<string, Set<(keys?: readonly string[]) => void>>()
  const unsent = new Set<string>()
  let notifying: Promise<void> | undefined
  const wakeLocal = (topic: string, keys?: readonly string[]) => {
    for (const listener of listeners.get(topic) ?? []) listener(keys)
  }
  const connection = connect(options, {
    heard: wakeLocal,
    // Other nodes may have sent wakeups that this node did not receive.
    listening: () => {
      for (const topic of listeners.keys()) wakeLocal(topic)
    },
  })

  /** Sends one NOTIFY for all topics that arise within a few milliseconds, and waits for it before sending the next. */
  async function notifyNodes(): Promise<void> {
    while (unsent.size > 0) {
      await delay(COALESCE_MS)
      const statement = wakeupStatement(options.nodeId, unsent, options.schema)
      unsent.clear()
      await connection.notify(statement)
    }
    notifying = undefined
  }

  return {
    wake(topic, keys) {
      wakeLocal(topic, keys)
      unsent.add(topic)
      notifying ??= notifyNodes()
    },
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(listener))
      return () => set.delete(listener)
    },
    async stop() {
      await notifying
      await connection.stop()
    },
  }
}

/**
 * The owners of new work that wakeups have mentioned, so that a pass can go to them without listing all owners of due work.
 */
export interface WokenKeys {
  /** @param keys undefined: the work may be anywhere */
  add(keys?: readonly string[]): void
  /** The keys mentioned since the last call; undefined if the pass has to list the owners itself. */
  take(): string[] | undefined
}

/**
 * @param listEveryMs the longest time between two passes that list the owners, to find work whose wakeup was lost or came
 *   from another node
 */
export function createWokenKeys(clock: Pick<Clock, 'monotonic'>, listEveryMs: number): WokenKeys {
  let named = new Set<string>()
  let isAnywhere = true
  let listedAt = Number.NEGATIVE_INFINITY
  return {
    add(keys) {
      if (keys === undefined) isAnywhere = true
      else for (const key of keys) named.add(key)
    },
    take() {
      const taken = [...named]
      named = new Set()
      const now = clock.monotonic()
      if (!isAnywhere && taken.length > 0 && now - listedAt < listEveryMs) return taken
      isAnywhere = false
      listedAt = now
      return undefined
    },
  }
}

/** Wakes all nodes of the schema except `nodeId`. Also for processes that only notify and never listen. */
export function wakeupStatement(nodeId: string, topics: Iterable<string>, schema = DEFAULT_SCHEMA): Statement {
  const payload = `${nodeId}:${[...topics].join(',')}`
  return { name: 'wake', text: 'select pg_notify($1, $2)', values: [wakeupChannel(schema), payload] }
}

/**
 * Opens one connection for LISTEN and NOTIFY, and replaces it whenever it is lost. Using it for both wakes one server process
 * instead of two. It commits asynchronously, so no other commit waits for its flush: through the general pool, a NOTIFY cost
 * the server 370 µs, compared with 2 800 µs for a single order.
 */
function connect(options: WakeupOptions, on: { heard(topic: string): void; listening(): void }) {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false
  let isListening = false

  async function open(): Promise<void> {
    const { url, schema = DEFAULT_SCHEMA, applicationName = 'dealer-esim wake' } = options
    const Client = clientFor(url, schema)
    const next = new Client({
      connectionString: url,
      application_name: applicationName,
      keepAlive: true,
      connectionTimeoutMillis: CONNECT_TIMEOUT_MS,
      query_timeout: NOTIFY_TIMEOUT_MS,
    })
    client = next
    next.on('error', options.onError)
    next.on('end', () => {
      if (client === next) reopen()
    })
    next.on('notification', ({ payload = '' }) => {
      const [nodeId, topics = ''] = payload.split(':')
      if (nodeId !== options.nodeId) for (const topic of topics.split(',')) on.heard(topic)
    })
    await next.connect()
    await applySettings(next, { search_path: schema, synchronous_commit: 'off' })
    await next.query(`listen ${wakeupChannel(schema)}`)
    isListening = true
    on.listening()
  }

  function reopen(): void {
    isListening = false
    if (stopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      opening = openOrRetry()
    }, RECONNECT_MS)
  }

  async function openOrRetry(): Promise<void> {
    await open().catch((error: Error) => {
      closeAfter(error)
      reopen()
    })
  }

  /** Closes the connection even if statements are pending. When it has ended, another is opened. */
  function closeAfter(error: Error): void {
    options.onError(error)
    isListening = false
    client?.end().catch(() => {})
  }

  let opening = openOrRetry()
  return {
    /** Never fails: if the NOTIFY is lost, the other nodes find the work when they poll. */
    async notify({ name, text, values }: Statement) {
      await opening
      if (!isListening) return
      if (isOutdated(client!)) closeAfter(new Error('another server now has the database'))
      else await client!.query({ name, text, values: values as unknown[] }).catch(closeAfter)
    },
    async stop() {
      stopped = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}

import pg from 'pg'
import type { Db, Statement } from './db.ts'

/** The background loops that can be woken. Polling is the net under every wake-up. */
export type Topic = 'fulfilment' | 'webhooks' | 'settings'

/**
 * Tells loops, here and on the other nodes, that there is work. The own node hears at once; the others by one NOTIFY
 * per topic and few milliseconds, sent outside the money transaction (NOTIFY takes a database-wide lock at commit).
 */
export interface Wake {
  wake(topic: Topic): void
  on(topic: Topic, listener: () => void): () => void
  stop(): Promise<void>
}

const COALESCE_MS = 5
const RECONNECT_MS = 1_000
const CHANNEL = 'dealer_esim_wake'

export interface WakeOptions {
  db: Db
  url: string
  nodeId: string
  /** Of the connection that listens. */
  applicationName?: string
  onError(error: Error): void
}

export function wakeups(options: WakeOptions): Wake {
  const listeners = new Map<Topic, Set<() => void>>()
  const unsent = new Set<Topic>()
  let timer: NodeJS.Timeout | undefined
  const tell = (topic: Topic) => {
    for (const listener of listeners.get(topic) ?? []) listener()
  }
  const ear = listen(options, tell)

  function notifyOthers(): void {
    timer = undefined
    const notify = wakeStatement(options.nodeId, unsent)
    unsent.clear()
    options.db.query(notify).catch(options.onError) // lost: the others poll
  }

  return {
    wake(topic) {
      tell(topic)
      unsent.add(topic)
      timer ??= setTimeout(notifyOthers, COALESCE_MS)
    },
    on(topic, listener) {
      const set = listeners.get(topic) ?? new Set()
      listeners.set(topic, set.add(listener))
      return () => set.delete(listener)
    },
    async stop() {
      clearTimeout(timer)
      if (unsent.size > 0) notifyOthers()
      await ear.stop()
    },
  }
}

/** Wakes the nodes but the one that says it: also for a process that only tells and never listens. */
export function wakeStatement(nodeId: string, topics: Iterable<Topic>): Statement {
  return { text: 'select pg_notify($1, $2)', values: [CHANNEL, `${nodeId}:${[...topics].join(',')}`] }
}

/** One connection that listens, made again whenever it is lost. */
function listen(options: WakeOptions, tell: (topic: Topic) => void) {
  let client: pg.Client | undefined
  let timer: NodeJS.Timeout | undefined
  let stopped = false

  async function open(): Promise<void> {
    const { url, applicationName = 'dealer-esim wake' } = options
    const next = new pg.Client({ connectionString: url, application_name: applicationName, keepAlive: true })
    client = next
    next.on('error', options.onError)
    next.on('end', reopen)
    next.on('notification', ({ payload = '' }) => {
      const [nodeId, topics = ''] = payload.split(':')
      if (nodeId !== options.nodeId) for (const topic of topics.split(',')) tell(topic as Topic)
    })
    await next.connect()
    await next.query(`listen ${CHANNEL}`)
  }

  function reopen(): void {
    if (stopped || timer) return
    timer = setTimeout(() => {
      timer = undefined
      open().catch((error: Error) => {
        options.onError(error)
        reopen()
      })
    }, RECONNECT_MS)
  }

  open().catch((error: Error) => {
    options.onError(error)
    reopen()
  })
  return {
    async stop() {
      stopped = true
      clearTimeout(timer)
      await client?.end().catch(() => {})
    },
  }
}

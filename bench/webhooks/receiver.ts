import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A receiver in a separate process. */
export interface Receiver {
  /** Answers 204. */
  url: string
  /** Never answers. */
  hangingUrl: string
  /** Answers 204, and counts only the first event of each order that says DELIVERED. */
  ordersUrl: string
  /**
   * Waits for `count` events, returns when each first arrived (ms since 1970) by notifyId, and forgets them. Of events to
   * `ordersUrl`: the time of delivery by transactionId.
   */
  take(count: number): Promise<Map<string, number>>
  stop(): void
}

const POLL_MS = 10

export async function startReceiver(): Promise<Receiver> {
  const child = fork(fileURLToPath(new URL('receiver-process.mjs', import.meta.url)), [], { execArgv: [] })
  const request = async <Answer>(message?: 'count' | 'take') => {
    const answer = once(child, 'message')
    if (message) child.send(message)
    return (await answer)[0] as Answer
  }
  const { port } = await request<{ port: number }>()
  return {
    url: `http://127.0.0.1:${port}/events`,
    hangingUrl: `http://127.0.0.1:${port}/hang`,
    ordersUrl: `http://127.0.0.1:${port}/orders`,
    async take(count) {
      while ((await request<{ count: number }>('count')).count < count) await delay(POLL_MS)
      return new Map((await request<{ arrived: [string, number][] }>('take')).arrived)
    },
    stop: () => void child.kill(),
  }
}

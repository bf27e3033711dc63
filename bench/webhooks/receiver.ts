import { fork } from 'node:child_process'
import { once } from 'node:events'
import { setTimeout as delay } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'

/** A receiver in a process of its own. */
export interface Receiver {
  /** Answers 204. */
  url: string
  /** Never answers. */
  hangingUrl: string
  /** Waits until so many events are there, and hands out when each first arrived (ms since 1970); they are forgotten. */
  take(count: number): Promise<Map<string, number>>
  stop(): void
}

const LOOK_MS = 10

export async function startReceiver(): Promise<Receiver> {
  const child = fork(fileURLToPath(new URL('receiver-process.mjs', import.meta.url)), [], { execArgv: [] })
  const ask = async <Answer>(question?: 'count' | 'take') => {
    const answer = once(child, 'message')
    if (question) child.send(question)
    return (await answer)[0] as Answer
  }
  const { port } = await ask<{ port: number }>()
  return {
    url: `http://127.0.0.1:${port}/events`,
    hangingUrl: `http://127.0.0.1:${port}/hang`,
    async take(count) {
      while ((await ask<{ count: number }>('count')).count < count) await delay(LOOK_MS)
      return new Map((await ask<{ arrived: [string, number][] }>('take')).arrived)
    },
    stop: () => void child.kill(),
  }
}

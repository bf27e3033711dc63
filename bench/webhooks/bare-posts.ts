import { fork } from 'node:child_process'
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { fileURLToPath } from 'node:url'
import { signedHeaders } from '@dealer-esim/gateway/webhooks/sending/delivery-attempt.ts'

/** A loop of POSTs in a separate process that runs plain JavaScript, like the gateway. */
export interface BarePosts {
  pid: number
  /** @returns the duration in s */
  send(url: string, count: number, concurrency: number): Promise<number>
  stop(): void
}

const BODY = JSON.stringify({ notifyId: randomUUID(), content: 'x'.repeat(400) })

export function startBarePosts(): BarePosts {
  const child = fork(fileURLToPath(new URL('bare-posts-process.mjs', import.meta.url)), [], { execArgv: [] })
  const secret = { secretId: '', secret: 'x'.repeat(43), validUntilMs: null, provenAtMs: null }
  const headers = signedHeaders({ appKey: 'bench_bare', secrets: [secret] }, '', randomUUID(), new Date(), BODY)
  return {
    pid: child.pid!,
    async send(url, count, concurrency) {
      const answer = once(child, 'message')
      child.send({ url, headers, body: BODY, count, concurrency })
      return ((await answer)[0] as { durationS: number }).durationS
    },
    stop: () => void child.kill(),
  }
}

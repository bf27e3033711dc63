import { setTimeout as delay } from 'node:timers/promises'
import { type Running, runLoop } from '../lib/process/lifecycle.ts'
import type { WebhookDeps } from './deps.ts'
import { PASS_GAP_MS, POLL_MS } from './limits.ts'
import { Sender } from './sending/sender.ts'
import { createWebhookMetrics } from './sending/telemetry.ts'

/** Sends events. A pass starts when a commit recorded some, when a retry comes due, and at every poll. */
export function webhooksLoop(deps: WebhookDeps): Running & { readonly idle: boolean } {
  const { clock, log, loops } = deps
  const sender = new Sender(deps, createWebhookMetrics(deps), () => loop.wake())
  let timer: NodeJS.Timeout | undefined
  let passedAt = Number.NEGATIVE_INFINITY
  const loop = runLoop({
    name: 'webhooks',
    log,
    loops,
    pollMs: POLL_MS,
    async pass() {
      // The first wake-up after a pause starts a pass immediately; under load many wake-ups share one.
      const gapMs = PASS_GAP_MS - (clock.monotonic() - passedAt)
      if (gapMs > 0) await delay(gapMs)
      passedAt = clock.monotonic()
      const { more, nextMs } = await sender.pass()
      clearTimeout(timer)
      if (nextMs !== undefined && nextMs < POLL_MS) timer = setTimeout(() => loop.wake(), nextMs + 1)
      return more
    },
  })
  // A changed setting applies to the next event.
  const unsubscribe = [deps.wake.on('webhooks', () => loop.wake()), deps.wake.on('settings', () => loop.wake())]
  return {
    get idle() {
      return sender.idle
    },
    async stop(deadlineMs) {
      const began = clock.monotonic()
      for (const stop of unsubscribe) stop()
      await loop.stop(deadlineMs)
      clearTimeout(timer)
      await sender.stop(Math.max(0, deadlineMs - (clock.monotonic() - began)))
    },
  }
}

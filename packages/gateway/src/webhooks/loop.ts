import { setTimeout as delay } from 'node:timers/promises'
import { type Running, runLoop } from '../lib/lifecycle.ts'
import type { WebhookDeps } from './deps.ts'
import { PASS_GAP_MS, POLL_MS } from './limits.ts'
import { webhookMetrics } from './metrics.ts'
import { Sender } from './sender.ts'

/** Sends events: woken by the commit that recorded them, by the clock when a retry comes due, and by polling. */
export function webhooksLoop(deps: WebhookDeps): Running & { readonly idle: boolean } {
  const { clock, log, loops } = deps
  const sender = new Sender(deps, webhookMetrics(deps), () => loop.wake())
  let timer: NodeJS.Timeout | undefined
  let passed_at = Number.NEGATIVE_INFINITY
  const loop = runLoop({
    name: 'webhooks',
    log,
    loops,
    poll_ms: POLL_MS,
    async pass() {
      // The first wake-up after a rest goes through at once; under load many share a pass.
      const gap_ms = PASS_GAP_MS - (clock.monotonic() - passed_at)
      if (gap_ms > 0) await delay(gap_ms)
      passed_at = clock.monotonic()
      const { more, next_ms } = await sender.pass()
      clearTimeout(timer)
      if (next_ms !== undefined && next_ms < POLL_MS) timer = setTimeout(() => loop.wake(), next_ms + 1)
      return more
    },
  })
  // What a dealer or an operator changes holds for the next event.
  const deafen = [deps.wake.on('webhooks', () => loop.wake()), deps.wake.on('settings', () => loop.wake())]
  return {
    get idle() {
      return sender.idle
    },
    async stop(deadline_ms) {
      const began = clock.monotonic()
      for (const stop of deafen) stop()
      await loop.stop(deadline_ms)
      clearTimeout(timer)
      await sender.stop(Math.max(0, deadline_ms - (clock.monotonic() - began)))
    },
  }
}

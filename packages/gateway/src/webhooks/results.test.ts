import { setImmediate as turn } from 'node:timers/promises'
import { Registry } from '@platformatic/prom-client'
import { expect, test, vi } from 'vitest'
import type { Db, Tx } from '../lib/db.ts'
import { systemIds } from '../lib/ids.ts'
import { silentLog } from '../lib/silent-log.ts'
import type { ClaimedEvent } from './claim.ts'
import { RESULTS_GATHER_MS, RESULTS_MANY, RESULTS_MAX } from './limits.ts'
import { webhookMetrics } from './metrics.ts'
import { type Result, resultWriter } from './results.ts'

const tenantId = systemIds.uuid()
const event = { tenantId, notifyId: systemIds.uuid(), leaseToken: systemIds.uuid(), attempts: 0 } as ClaimedEvent
const RESULT: Result = { settlement: { kind: 'UNSENT', tenantId, event } }

/** A writer on a database that takes everything at once, and how many results each of its transactions had. */
function writer() {
  const written: number[] = []
  const tx = { send() {} } as Pick<Tx, 'send'> as Tx
  const db = { tx: (work: (tx: Tx) => Promise<unknown>) => work(tx) } as Partial<Db> as Db
  const metrics = webhookMetrics({ metrics: new Registry() })
  const results = resultWriter({ db, ids: systemIds, log: silentLog }, metrics, (done) => written.push(done.length))
  return { written, add: (count: number) => Array.from({ length: count }, () => results.add(RESULT)) }
}

test('what comes by the dozen gathers; what fills a transaction has gathered', async () => {
  const { written, add } = writer()
  add(2 * RESULTS_MAX + RESULTS_MANY)
  await turn()
  await turn()
  const full_at = performance.now()
  expect(written.slice(0, 2)).toEqual([RESULTS_MAX, RESULTS_MAX])
  add(1)
  await vi.waitFor(() => expect(written.slice(2)).toEqual([RESULTS_MANY + 1]), { interval: 1 })
  expect(performance.now() - full_at).toBeGreaterThan(RESULTS_GATHER_MS / 2)
})

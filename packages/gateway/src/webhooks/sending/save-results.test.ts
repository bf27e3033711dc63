import { setImmediate as turn } from 'node:timers/promises'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import type { Db, Tx } from '@dealer-esim/lib/postgres/db.ts'
import { CommitUnknown } from '@dealer-esim/lib/postgres/errors.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { Registry } from '@platformatic/prom-client'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { RESULTS_GATHER_MS, RESULTS_MAX, RESULTS_TO_GATHER } from '../webhook-limits.ts'
import type { EventResult } from './save-results.ts'
import { resultWriter } from './save-results.ts'
import { createWebhookMetrics } from './sending-telemetry.ts'

const RESULT: EventResult = {
  tenantId: systemIds.uuid(),
  notifyId: systemIds.uuid(),
  generation: 0,
  attempts: 0,
  logged: undefined,
  next: { step: 'UNSENT' },
}

/**
 * A writer on a database that first fails with `failures` and then accepts everything; `written` contains the batch sizes.
 */
function writer(failures: Error[] = []) {
  const written: number[] = []
  const tx = { send() {} } as Pick<Tx, 'send'> as Tx
  const db = {
    async tx(work: (tx: Tx) => Promise<unknown>) {
      const failure = failures.shift()
      if (failure) throw failure
      return work(tx)
    },
  } as Partial<Db> as Db
  const metrics = createWebhookMetrics({ metrics: new Registry() })
  const deps = { db, ids: systemIds, cipher: createCipher([Buffer.alloc(32)]), log: silentLog }
  const results = resultWriter(deps, metrics, {
    nodeId: systemIds.uuid(),
    finishedQueues: () => [],
    saved: (results) => written.push(results.length),
  })
  return { written, metrics, add: (count: number) => Array.from({ length: count }, () => results.add(RESULT)) }
}

test('a writer waits for more results before saving a small batch, but saves a full batch immediately', async () => {
  const { written, add } = writer()
  const startedAt = performance.now()
  add(2 * RESULTS_MAX + RESULTS_TO_GATHER)
  await turn()
  await turn()
  expect(written.slice(0, 2)).toEqual([RESULTS_MAX, RESULTS_MAX])
  add(1)
  await vi.waitFor(() => expect(written.slice(2)).toEqual([RESULTS_TO_GATHER + 1]), { interval: 1, timeout: 20_000 })
  expect(performance.now() - startedAt).toBeGreaterThan(RESULTS_GATHER_MS / 2)
})

test('results whose commit was not confirmed count as saved if their attempts are in the log', async () => {
  const inTheLog = Object.assign(new pg.DatabaseError('duplicate key', 13, 'error'), {
    code: '23505',
    constraint: 'delivery_attempts_497_pkey',
  })
  const failures = [new CommitUnknown(undefined), inTheLog]
  const { written, metrics, add } = writer(failures)
  const lost = vi.spyOn(metrics.saveFailures, 'inc')
  add(1)
  await vi.waitFor(() => expect(written).toEqual([1]), { interval: 1, timeout: 20_000 })
  expect(failures).toEqual([])
  expect(lost).not.toHaveBeenCalled()
})

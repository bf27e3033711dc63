import { setImmediate as turn } from 'node:timers/promises'
import { Registry } from '@platformatic/prom-client'
import pg from 'pg'
import { expect, test, vi } from 'vitest'
import { systemIds } from '../lib/ids.ts'
import type { Db, Tx } from '../lib/postgres/db.ts'
import { CommitUnknown } from '../lib/postgres/errors.ts'
import { silentLog } from '../lib/telemetry/log.ts'
import { RESULTS_GATHER_MS, RESULTS_MANY, RESULTS_MAX } from './limits.ts'
import { webhookMetrics } from './metrics.ts'
import { type Result, resultWriter } from './results.ts'

const RESULT: Result = {
  settlement: {
    tenantId: systemIds.uuid(),
    notifyId: systemIds.uuid(),
    turn: 0,
    attempts: 0,
    logged: undefined,
    next: { step: 'UNSENT' },
  },
}

/** A writer on a database that takes everything at once, but for these failures, and how many results were written when. */
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
  const metrics = webhookMetrics({ metrics: new Registry() })
  const results = resultWriter({ db, ids: systemIds, log: silentLog }, metrics, {
    nodeId: systemIds.uuid(),
    leftBy: () => [],
    done: (results) => written.push(results.length),
  })
  return { written, metrics, add: (count: number) => Array.from({ length: count }, () => results.add(RESULT)) }
}

test('what comes by the dozen gathers; what fills a transaction has gathered', async () => {
  const { written, add } = writer()
  add(2 * RESULTS_MAX + RESULTS_MANY)
  await turn()
  await turn()
  const fullAt = performance.now()
  expect(written.slice(0, 2)).toEqual([RESULTS_MAX, RESULTS_MAX])
  add(1)
  await vi.waitFor(() => expect(written.slice(2)).toEqual([RESULTS_MANY + 1]), { interval: 1 })
  expect(performance.now() - fullAt).toBeGreaterThan(RESULTS_GATHER_MS / 2)
})

test('attempts that are in the log already, because a commit was not answered, are written', async () => {
  const inTheLog = Object.assign(new pg.DatabaseError('duplicate key', 13, 'error'), {
    code: '23505',
    constraint: 'delivery_attempts_497_pkey',
  })
  const failures = [new CommitUnknown(undefined), inTheLog]
  const { written, metrics, add } = writer(failures)
  const lost = vi.spyOn(metrics.settleFailures, 'inc')
  add(1)
  await vi.waitFor(() => expect(written).toEqual([1]), { interval: 1 })
  expect(failures).toEqual([])
  expect(lost).not.toHaveBeenCalled()
})

import type { PackageListRequest } from '@dealer-esim/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arbitraryChanges, type Change, rowsAfter } from '../../../test/harness/catalogue-history.ts'
import { LoadedSnapshot } from './snapshot.ts'

// Whatever happened in whatever pieces: a snapshot made step by step answers like one made at once.

const change = arbitraryChanges('A', 'B', 'C', 'D', 'E')
const context = { linkKey: Buffer.alloc(32), databaseClock: { now: () => 1_000 } }
test('a snapshot made step by step lists what one made at once lists, to every tenant and since every moment', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 6 }), (steps) => {
      let stepwise = LoadedSnapshot.empty(context)
      const all: Change[] = []
      for (const step of steps) {
        // Building the ways to look in between is what could go stale.
        for (const currencyCode of ['USD', 'EUR']) stepwise.list({ tenantId: 'U', currencyCode }, { keyword: 'x' })
        all.push(...step)
        stepwise = stepwise.with(rowsAfter(all)(stepwise.changedAt))
      }
      const atOnce = LoadedSnapshot.empty(context).with(rowsAfter(all)(Number.NEGATIVE_INFINITY))
      // A new version without rows: nothing is remembered of earlier questions.
      const anew = (snapshot: LoadedSnapshot) => snapshot.with(rowsAfter(all)(all.length))
      for (const tenantId of ['T', 'U']) {
        for (const currencyCode of ['USD', 'EUR']) {
          const buyer = { tenantId, currencyCode }
          const both = (request: PackageListRequest) =>
            expect(anew(stepwise).list(buyer, request)).toEqual(anew(atOnce).list(buyer, request))
          both({})
          both({ keyword: 'y' })
          for (const since of all.keys()) both({ updatedSince: new Date(since).toISOString() })
        }
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)

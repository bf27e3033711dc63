import type { PackageListRequest } from '@dealer-esim/contract'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { arbitraryChanges, type Change, rowsAfter } from '#test/harness/catalogue-history.ts'
import { LoadedSnapshot } from './catalogue.ts'
import { listPackages } from './snapshot/list-packages.ts'

// A snapshot built step by step answers the same as one built from all changes together.

const change = arbitraryChanges('A', 'B', 'C', 'D', 'E')
const context = { linkKey: Buffer.alloc(32), databaseClock: { now: () => 1_000 } }
test('a snapshot built in steps lists the same packages as one built in a single step', () => {
  fc.assert(
    fc.property(fc.array(fc.array(change, { maxLength: 6 }), { maxLength: 6 }), (steps) => {
      let stepwise = LoadedSnapshot.empty(context)
      const all: Change[] = []
      for (const step of steps) {
        // Lookups built in between could become stale.
        for (const currencyCode of ['USD', 'EUR'])
          listPackages(stepwise, { tenantId: 'U', currencyCode }, { keyword: 'x' })
        all.push(...step)
        stepwise = stepwise.with(rowsAfter(all)(stepwise.changedAt))
      }
      const inOneStep = LoadedSnapshot.empty(context).with(rowsAfter(all)(Number.NEGATIVE_INFINITY))
      // A new version without rows: its caches are empty.
      const withoutCaches = (snapshot: LoadedSnapshot) => snapshot.with(rowsAfter(all)(all.length))
      for (const tenantId of ['T', 'U']) {
        for (const currencyCode of ['USD', 'EUR']) {
          const buyer = { tenantId, currencyCode }
          const both = (request: PackageListRequest) =>
            expect(listPackages(withoutCaches(stepwise), buyer, request)).toEqual(
              listPackages(withoutCaches(inOneStep), buyer, request),
            )
          both({})
          both({ keyword: 'y' })
          for (const since of all.keys()) both({ updatedSince: new Date(since).toISOString() })
        }
      }
    }),
    { numRuns: 60 },
  )
}, 60_000)

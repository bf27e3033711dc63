import { expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/*
 * A PostgreSQL integer ends at 2 147 483 647, which is 214 748.36 of money. A parameter that is cast to one must be bounded
 * by our own code. packages/gateway/test/harness/databases/examine-statement.ts finds those that PostgreSQL itself makes
 * integers.
 */

/** By file: its parameters and their bound. */
const BOUNDED: Record<string, string> = {
  'packages/gateway/src/esims/poll-suppliers.ts': 'seconds between polls, from the traits of suppliers',
  'packages/gateway/src/fulfilment/outcomes/save-outcomes.ts': 'numbers of items, at most 100 in an order',
  'packages/gateway/src/fulfilment/reconciliation/ask-now.ts': 'the number of an item, at most 100 in an order',
  'packages/gateway/src/fulfilment/reconciliation/reconciliation-report.ts': 'counts of eSIMs of a month',
  'packages/gateway/src/orders/placing/write-sends.ts': 'numbers of items, at most 100 in an order',
  'packages/gateway/src/orders/unanswered-topup.ts': 'days of a day pass, at most 365',
  'packages/gateway/src/people/account/access-token.ts': 'days of a token, at most 366',
  'packages/gateway/src/people/manage-people.ts': 'hours of an exemption, at most 72',
  'packages/gateway/src/platform/retention/request-id-slots.ts': 'hours that RequestIDs are kept, a constant',
  'packages/gateway/src/products/sync/sync-state.ts': 'minutes between readings, at most a week',
  'packages/gateway/src/stock/stock-batches.ts': 'days until codes expire, at most a century',
  'packages/gateway/src/suppliers/balance/balance-days.ts': 'days of a report, a constant',
  'packages/gateway/src/suppliers/supplier-questions.ts': 'numbers of items, at most 100 in an order',
  'packages/gateway/src/tenants/admission/admit-batch.ts': 'slots, which are hours since 1970, and QPS limits',
  'packages/gateway/src/wallet/books/grow-tree.ts': 'levels of a tree, at most 11',
  'packages/gateway/src/wallet/books/ledger-keys.ts': 'hours until a key signs, a constant',
  'packages/gateway/src/wallet/books/tree-tiles.ts': 'levels of a tree, at most 11',
  'packages/gateway/src/wallet/ledger/post.ts': 'numbers of items, at most 100 in an order',
  'packages/gateway/src/webhooks/attempt-log.ts': 'the number of an attempt, at most 11 and its repetitions',
  'packages/wholesalers/src/stored-answer.ts': 'numbers of items, at most 100 in an order',
}
const CAST = /(?:\$\{[^}]*\}|\$\d+)::(?:int|integer|smallint|int4|int2)\b/

it('every parameter that is cast to an integer has a bounded value', () => {
  const casting = listFiles(/^packages\/(?:gateway|lib|wholesalers)\/src\/.*(?<!\.test)\.ts$/).filter((file) =>
    readLines(file).some((line) => CAST.test(line)),
  )
  expect(casting.sort()).toEqual(Object.keys(BOUNDED).sort())
})

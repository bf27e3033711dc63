import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { findOverflows, findUntyped, NARROW, parameterTypes } from '../harness/databases/examine-statement.ts'
import { packages, readStatements, type SourceStatement } from './source-statements.ts'

/* Every statement of the source takes every amount, whether or not a test runs it. */

/** Integers that our own code bounds, by the name of the value; where it has none, by the statement's file. */
const BOUNDED: Record<string, string> = {
  alertDays: 'days until codes expire, at most a century',
  attempts: 'attempts of one e-mail, at most a dozen',
  count: 'calls to record, at most some hundred',
  days: 'days of a token or a report, at most 366',
  everyMinutes: 'minutes between readings, at most a week',
  EVERY_MINUTES_DEFAULT: 'a constant',
  expiryNoticeHours: 'at most 720',
  FAILURES_MAX: 'a constant',
  feePercent: 'percent',
  generation: 'renewals of one link, each by a person',
  hours: 'hours of an exemption, at most 72',
  ISSUER_DIGITS: 'a constant',
  itemNo: 'numbers of items, at most 100 in an order',
  keepHours: 'hours that RequestIDs are kept, a constant',
  kept: 'products of one catalogue that were kept',
  level: 'levels of a tree, at most 11',
  listed: 'products of one catalogue',
  newDealerQpsLimit: 'at most QPS_LIMIT_MAX',
  'orders.length': 'orders in one call',
  overlapHours: 'hours until a key signs, a constant',
  percent: 'percent',
  alertedPercent: 'percent',
  POLL_IN_USE_LONGEST_S: 'a constant',
  POLL_UNUSED_LONGEST_S: 'a constant',
  position: 'places in the list of rules, at most as many as there are rules',
  products: 'products of one catalogue',
  'products.length': 'products of one catalogue',
  qpsLimit: 'at most QPS_LIMIT_MAX',
  ratePerS: 'events per second of a replay, a setting with a limit',
  replayed: 'events of one step of a replay',
  slot: 'hours since 1970',
  step: 'steps of the trial data',
  unreadable: 'products of one catalogue that could not be read',
  usageThresholds: 'percent',
  wanted: 'rows of a page',
  'gateway/src/fulfilment/outcomes/orphans.ts': 'numbers of items',
  'gateway/src/fulfilment/outcomes/outcome-items.ts': 'numbers of items',
  'gateway/src/fulfilment/outcomes/save-outcomes.ts': 'numbers of items',
}

/**
 * Files with statements of which only the running program knows the whole text. They are examined when a test runs them
 * (harness/databases/parameter-types.ts).
 */
const KNOWN_WHEN_RUN = {
  'names of tables or columns are given': [
    'gateway/src/catalogue/catalogue-checks.ts',
    'gateway/src/catalogue/packages/read-packages.ts',
    'gateway/src/catalogue/prices/price-assignments.ts',
    'gateway/src/catalogue/prices/rename-delete.ts',
    'gateway/src/catalogue/snapshot/load-snapshot.ts',
    'gateway/src/cells/move/cell-session.ts',
    'gateway/src/cells/move/check-move.ts',
    'gateway/src/cells/move/copy-rows.ts',
    'gateway/src/cells/move/verify-move.ts',
    'gateway/src/cells/move/write-rows.ts',
    'gateway/src/operations/backup/make-backup.ts',
    'gateway/src/operations/trial/remove-tenants.ts',
    'gateway/src/operations/trial/write-history.ts',
    'gateway/src/operations/twins/end-twin.ts',
    'gateway/src/platform/deployment/reencrypt.ts',
    'gateway/src/platform/jobs.ts',
    'gateway/src/platform/retention/retention-loop.ts',
    'gateway/src/sales/update-sales.ts',
    'gateway/src/suppliers/state/see-supplier.ts',
    'lib/src/postgres/distributed-schema.ts',
    'lib/src/postgres/partitions.ts',
  ],
  'columns are listed by lib/postgres/columns.ts': [
    'gateway/src/esims/insert-profiles.ts',
    'gateway/src/fulfilment/outcomes/outcome-items.ts',
    'gateway/src/orders/change-order.ts',
    'gateway/src/orders/placing/restored-orders.ts',
    'gateway/src/orders/placing/write-orders.ts',
    'gateway/src/platform/record-events.ts',
    'gateway/src/tenants/keys/key-spending.ts',
    'gateway/src/webhooks/attempt-log.ts',
    'gateway/src/webhooks/sending/save-results.ts',
  ],
  'conditions or columns are chosen by a filter': [
    'gateway/src/esims/poll-suppliers.ts',
    'gateway/src/cli/tenants/moving-cells.ts',
    'gateway/src/esims/profile-page.ts',
    'gateway/src/esims/query-order.ts',
    'gateway/src/fulfilment/reconciliation/reconciliation-report.ts',
    'gateway/src/http/console/suppliers/supplier-figures.ts',
    'gateway/src/operations/twins/manage-twins.ts',
    'gateway/src/webhooks/replay/replay.ts',
    'gateway/src/orders/reading/list-orders.ts',
    'gateway/src/orders/unanswered-topup.ts',
    'gateway/src/products/list-products.ts',
    'gateway/src/products/rules/compute-changes.ts',
    'gateway/src/sales/order-cells.ts',
    'gateway/src/stock/held-codes.ts',
    'gateway/src/stock/stock-batches.ts',
    'gateway/src/tenants/admission/admit-batch.ts',
    'gateway/src/tenants/search-tenants.ts',
    'gateway/src/tenants/tenant-rows.ts',
    'gateway/src/wallet/books/checkpoints.ts',
    'gateway/src/wallet/requests/create-request.ts',
    'gateway/src/wallet/statement/statement-entries.ts',
    'lib/src/postgres/count-rows.ts',
    'wholesalers/src/sandbox/sandbox-records.ts',
    'wholesalers/src/sandbox/sandbox-usage.ts',
    'wholesalers/src/sandbox/sandbox.ts',
  ],
  'it is a part of other statements, which are examined': [
    'gateway/src/orders/reading/search-orders.ts',
    'gateway/src/sales/list-sales.ts',
    'gateway/src/wallet/verify/verify-chain.ts',
    'gateway/src/wallet/verify/verify-orders.ts',
  ],
  'the table is a temporary one': ['gateway/src/catalogue/files/import-packages.ts'],
}

let database: TestDatabase
let client: pg.Client
beforeAll(async () => {
  database = await createTestDatabase()
  client = new pg.Client({ connectionString: database.url })
  await client.connect()
})
afterAll(async () => {
  await client.end()
  await database.drop()
})

/** Examines statements. @returns what is wrong, and where a statement could not be prepared */
async function examine(statements: readonly SourceStatement[]) {
  const [prepared, found] = [new Set<string>(), [] as string[]]
  const sites = new Map<string, SourceStatement[]>()
  for (const each of statements) sites.set(each.text, [...(sites.get(each.text) ?? []), each])
  for (const [inSource, same] of sites) {
    const text = `/* of the source */ ${inSource}` // the check of what tests run examines no statement that begins like this
    const types = await parameterTypes(client, text)
    if (!types) continue
    for (const { at, unknown } of same) if (unknown.length === 0) prepared.add(at)
    const { at } = same[0]!
    const faults = [...(await findUntyped(client, text, types)), ...(await findOverflows(client, text, types))]
    found.push(...faults.map((fault) => `${at}: ${fault}`))
    for (const { at, values } of same)
      for (const [index, type] of types.entries())
        if (NARROW.test(type) && !isBounded(at, values[index])) found.push(`${at}: ${values[index]} is ${type}`)
  }
  return { found, unknown: [...new Set(statements.map(({ at }) => at))].filter((at) => !prepared.has(at)) }
}

function isBounded(at: string, value = ''): boolean {
  // The last name of `row.itemNo`, `itemNo ?? null` or `items.map(({ itemNo }) => itemNo)`.
  const names = [value, ...(value.match(/[A-Za-z_]\w*/g) ?? [])]
  return [fileOf(at), ...names].some((name) => Object.hasOwn(BOUNDED, name))
}

const fileOf = (at: string) => at.replace(/:\d+$/, '')

it('every statement of the source takes the largest and the smallest amounts', { timeout: 300_000 }, async () => {
  const statements = ['gateway', 'lib', 'wholesalers'].flatMap((name) => readStatements(join(packages, name, 'src')))
  const { found, unknown } = await examine(statements)
  expect(found).toEqual([])
  expect([...new Set(unknown.map(fileOf))].sort()).toEqual(Object.values(KNOWN_WHEN_RUN).flat().sort())
  const sites = new Set(statements.map(({ at }) => at)).size
  expect((sites - unknown.length) / sites).toBeGreaterThan(0.88) // 895 of 999
})

it.each([
  ['an amount with the type of the number beside it', `sql\`select from wallets where \${paid} > 0\``, 'is an integer'],
  ['an amount that is cast', `db.query({ text: 'select $1::bigint::int', values: [paid] })`, 'out of range'],
  ['an amount in an integer column', `sql\`update tenants set qps_limit = \${paid}\``, 'paid is integer'],
  ['a part from a function', `sql\`select from wallets where \${raw(isMore('balance'))} or 0 < \${paid}\``, 'of 0 in'],
])('finds %s', async (_, statement, expected) => {
  const folder = mkdtempSync(join(tmpdir(), 'statements-'))
  const isMore = `const isMore = (than: string): string => \`\${than} > \${LEAST}\`\nconst LEAST = 1_000\n`
  writeFileSync(join(folder, 'wrong.ts'), `${isMore}export const wrong = (db, paid) => ${statement}\n`)
  const { found, unknown } = await examine(readStatements(folder))
  rmSync(folder, { recursive: true })
  expect(found).toContainEqual(expect.stringContaining(expected))
  expect(unknown).toEqual([])
})

import { execFileSync, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { RELEASE } from '@dealer-esim/lib/process/release.ts'
import { expect, test } from 'vitest'
import { listFiles, ROOT } from './repository.ts'

/*
 * Migrations are frozen, and a new one blocks nobody for long while the previous release keeps working: RELEASING.md. Each
 * statement must be of a kind that is known to.
 */

const FOLDER = 'packages/gateway/migrations'
/** The last file from before the rule. */
const FROZEN = '0018_supplier_statements.sql'

/** Tables with a row for each order, eSIM, event, code or request: five million rows, and always in use. */
const GROWING = new Set(
  `alerts audit_log daily_sales deliveries delivery_attempts es2plus_orders esim_actions esim_go_claims esim_go_orders esim_sends
   events ledger_checkpoints ledger_tiles mails mobimatter_orders notes order_items orders orphans profiles request_ids
   resolved_codes sandbox_actions sandbox_issued stock_codes supplier_attempts supplier_questions supplier_states transfers
   unclaimed_esims watched_items`.split(/\s+/),
)

/** Tables with a row for each dealer, package, supplier, person or day: they are rewritten within a second. */
const SMALL = new Set(
  `access_tokens backups brand_pictures brands catalogue_version cell_imports coverages daily_orders daily_purchases
   daily_sales_packages daily_sales_tenant_suppliers daily_sales_tenants deployment endpoint_queues es2plus_ranges exchange_rates
   issued_statements ledger_checks ledger_keys ledger_restores ledger_trees list_prices monthly_sales_tenants operator_details
   operator_settings order_quarter_hours package_suppliers packages passkeys payment_settings people person_links
   price_group_plans price_groups price_plan_rules price_plans provider_accounts qps_buckets recovered_tenants recovery_codes
   request_id_slots restored_lists restored_transactions restores retention_clock rule_packages sale_rules sales_progress
   saved_views schema_migrations schema_releases second_factor_roles sessions settled_suppliers sign_in_failures spent_challenges
   stock_batches stock_levels supplier_balance_days supplier_balance_readings supplier_balances supplier_exchanges
   supplier_list_checks supplier_prices supplier_product_costs supplier_products supplier_rates supplier_recordings
   supplier_syncs supplier_tokens supplier_verifications suppliers tenant_keys tenant_move_changes tenant_moves
   tenant_price_groups tenant_price_plans tenant_prices tenant_secrets tenants top_up_receipts top_up_requests trial_dealers
   twins wallet_adjustments wallets webhook_checks webhook_endpoints webhook_replays`.split(/\s+/),
)

interface Kind {
  matches: RegExp
  /** Only of a table that grows. Default: of any table that existed before the file. */
  growing?: boolean
  fault?: string
}

const REWRITES = 'rewrites the table'
const READS_ALL = 'reads every row while nobody may write: add it as not valid, and validate it in a later file'
const CONTRACT = 'the release before still uses it: contract in three steps'

/** Clauses of `alter table`, each judged alone. The words `column` and `constraint` may be left out in SQL, but not here. */
const CLAUSES: readonly Kind[] = [
  { matches: /^validate constraint \w+$/ }, // lets others read and write
  { matches: /^set \((fillfactor|autovacuum)/ },
  { matches: /^(drop column|rename)\b/, fault: CONTRACT },
  { matches: /^alter column \w+ (set data )?type\b/, fault: `${REWRITES}, and the release before reads the old type` },
  { matches: /^alter column \w+ set not null$/, fault: 'the release before writes null' },
  { matches: /^alter column \w+ drop default$/, fault: 'the release before leaves the column out' },
  { matches: /^alter column \w+ (set default|drop not null|set statistics)\b/ },
  {
    matches: /^add column\b(?!.*\bdefault\b).*\bnot null\b/,
    fault: 'the release before leaves it out: give it a constant default',
  },
  { matches: /^add column \w+ (small|big)?serial\b/, fault: `${REWRITES}: each row gets its own number` },
  {
    // A literal, perhaps with a type, is stored once for all rows. Anything else may be computed for each row.
    matches: /^add column\b.*\bdefault (?!('[^']*'(::\w+(\[\])?)?|-?[\d.]+|true|false|null)( |$))/,
    growing: true,
    fault: `a default that is computed for each row ${REWRITES}`,
  },
  {
    matches: /^add column\b.*\b(references|unique|primary key|generated|check)\b/,
    growing: true,
    fault: `reads or ${REWRITES}: add the constraint as not valid, and validate it in a later file`,
  },
  { matches: /^add column (if not exists )?\w+ / },
  { matches: /^add constraint \w+ (check|foreign key) .* not valid$/ },
  { matches: /^add (constraint|unique|primary key|check|foreign key|exclude)\b/, growing: true, fault: READS_ALL },
  { matches: /^add constraint\b/ },
  { matches: /^drop constraint\b/ },
]

/** Other statements on a table that existed before the file. */
const STATEMENTS: readonly Kind[] = [
  { matches: /^create (or replace )?(function|view)\b/ },
  { matches: /^comment on\b/ },
  { matches: /^drop (table|view|function|type|schema|index)\b/, fault: CONTRACT },
  { matches: /^create (unique )?index concurrently\b/, fault: 'a migration runs in a transaction, where this fails' },
  { matches: /^create (unique )?index\b/, growing: true, fault: 'nobody may write while it is built' },
  { matches: /^(insert|update|delete)\b/, growing: true, fault: 'a job changes many rows, not a migration' },
  { matches: /^(create (unique )?index|create trigger|insert into|update|delete from)\b/ },
]

/** @returns sentences that say what is wrong */
function faultsOf(sql: string): string[] {
  const statements = sql
    .replaceAll(/--[^\n]*/g, '')
    .replaceAll(/\$(\w*)\$[\s\S]*?\$\1\$/g, '$body$')
    .split(';')
    .map((statement) => statement.trim().replaceAll(/\s+/g, ' ').toLowerCase())
    .filter((statement) => statement !== '')
  const created = new Set<string>()
  let locked: string | undefined
  return statements.flatMap((statement) => {
    const [, table] = /^create (?:unlogged )?table (?:if not exists )?(\w+) ?\(/.exec(statement) ?? []
    if (table !== undefined) {
      created.add(table)
      return []
    }
    const read = [...statement.matchAll(READ_TABLE)].map(([, name]) => name!).find((name) => GROWING.has(name))
    if (/^(insert|update|delete)\b/.test(statement) && read !== undefined)
      return [`${statement}: a job reads all rows of ${read}, not a migration`]
    const on = tableOf(statement)
    if (on !== undefined && created.has(on)) return [] // nobody uses it yet
    if (/ validate constraint /.test(statement) && locked !== undefined)
      return [`${statement}: reads every row while ${locked} stays locked: validate it in a later file`]
    if (/^(alter table|create (unique )?index|create trigger)\b/.test(statement)) locked ??= on
    const isGrowing = on === undefined || !SMALL.has(on)
    const [, clauses] = /^alter table (?:only )?\w+ (.*)$/.exec(statement) ?? []
    if (clauses === undefined) return judge(STATEMENTS, statement, isGrowing)
    return splitClauses(clauses).flatMap((clause) => judge(CLAUSES, clause, isGrowing))
  })
}

const READ_TABLE = /\b(?:select .*? from|join|using) (?:only )?(\w+)/g

function judge(kinds: readonly Kind[], text: string, isGrowing: boolean): string[] {
  const kind = kinds.find(({ matches, growing }) => matches.test(text) && (growing === undefined || isGrowing))
  if (kind?.fault !== undefined) return [`${text}: ${kind.fault}`]
  return kind === undefined ? [`${text}: no kind of statement that is known to block nobody (CLAUSES, STATEMENTS)`] : []
}

/** Splits `add column a text default '(', add column b numeric(4, 2)` at the commas outside strings and brackets. */
function splitClauses(clauses: string): string[] {
  const parts = ['']
  let depth = 0
  for (const token of clauses.match(/'[^']*'|[^']/g) ?? []) {
    if (token === '(') depth++
    if (token === ')') depth--
    if (token === ',' && depth === 0) parts.push('')
    else parts[parts.length - 1] += token
  }
  return parts.map((part) => part.trim())
}

/** @returns undefined for a name in quotes or with a schema: such a table counts as one that grows */
function tableOf(statement: string): string | undefined {
  return (/^(?:alter table (?:only )?|insert into |update (?:only )?|delete from (?:only )?)(\w+)(?![\w.])/.exec(
    statement,
  ) ?? /^create (?:unique )?(?:index|trigger)\b.*? on (?:only )?(\w+)(?![\w.])/.exec(statement))?.[1]
}

test.each([
  ['create table a (x int); create index on a (x); insert into a values (1)', undefined],
  ['alter table orders add column remark text', undefined],
  ['alter table orders add column remark text not null', /leaves it out/],
  ["alter table orders add column remark text not null default ''", undefined],
  ['alter table orders add column at timestamptz not null default now()', /rewrites the table/],
  ['alter table orders add column x int check (x > 0)', /not valid/],
  ['alter table orders add constraint c check (x > 0) not valid', undefined],
  ['alter table orders add constraint c check (x > 0)', /nobody may write/],
  ['alter table suppliers add constraint c check (x > 0)', undefined],
  ['alter table orders validate constraint c', undefined],
  ['create index on orders (note)', /nobody may write/],
  ['create index supplier_note on suppliers (note)', undefined],
  ['update orders set note = null', /a job/],
  ['alter table suppliers drop column note', /contract/],
  ['alter table suppliers rename note to remark', /contract/],
  ['alter table suppliers alter column note type int', /old type/],
  ['alter table suppliers alter column note set not null', /writes null/],
  ['drop table notes', /contract/],
  ['cluster orders', /no kind/],
  ['drop index orders_due', /contract/],
  ['alter table suppliers drop note', /no kind/],
  ['alter table suppliers alter note type int', /no kind/],
  ['alter table orders add remark text not null', /no kind/],
  ['alter table orders add unique (note)', /nobody may write/],
  ['alter table orders add check (x > 0)', /nobody may write/],
  ['alter table orders add constraint c unique (note)', /nobody may write/],
  ['alter table only orders add constraint c check (x > 0)', /nobody may write/],
  ['alter table orders alter column note drop default', /leaves the column out/],
  ["alter table suppliers alter column note set default 'x'", undefined],
  ['alter table orders add column a int, add constraint c exclude using gist (a with =)', /nobody may write/],
  ['alter table orders add column a text, set tablespace fast', /no kind/],
  ['alter table orders add column a text, set unlogged', /no kind/],
  ['alter table orders add column a numeric(4, 2), add column b text', undefined],
  ['alter table orders add column id bigserial', /own number/],
  ['alter table orders add column id bigint not null default next_id()', /rewrites the table/],
  ["alter table orders add column a text[] not null default '{}'::text[]", undefined],
  ['alter table public.orders add constraint c check (x > 0)', /no kind/],
  ['create index on only orders (note)', /nobody may write/],
  ['create index on public.orders (note)', /nobody may write/],
  ['create index on "orders" (note)', /nobody may write/],
  ['create index concurrently supplier_note on suppliers (note)', /in a transaction/],
  ['update only orders set note = null', /a job/],
  ['delete from public.orders', /a job/],
  ['create table sums (x int); insert into sums select count(*) from orders', /reads all rows of orders/],
  ['insert into suppliers select supplier from packages join orders using (x)', /reads all rows of orders/],
  ['update brands_of_next_release set x = 1', /a job/],
  [
    'alter table orders add constraint c check (x > 0) not valid; alter table orders validate constraint c',
    /in a later file/,
  ],
  ['truncate orders', /no kind/],
  ['lock table orders', /no kind/],
  ['do $$ begin update orders set note = null; end $$', /no kind/],
  ['create function f() returns int language sql as $$ select 1; drop table orders $$', undefined],
])('%s', (sql, fault) => {
  const faults = faultsOf(sql)
  if (fault === undefined) expect(faults).toEqual([])
  else expect(faults.join()).toMatch(fault)
})

test('each table of the schema is among those that grow or those that are small', () => {
  const schema = readFileSync(join(ROOT, 'packages/gateway/schema.sql'), 'utf8')
  const tables = [...schema.matchAll(/^create (?:unlogged )?table (\w+)/gm)].map(([, table]) => table!)
  expect([...GROWING, ...SMALL].sort()).toEqual(tables.sort())
})

const files = listFiles(/^packages\/gateway\/migrations\/.*\.sql$/).map((path) => path.slice(FOLDER.length + 1))

test.each(files.filter((name) => name > FROZEN))('%s blocks nobody for long, and only adds things', (name) => {
  expect(faultsOf(readFileSync(join(ROOT, FOLDER, name), 'utf8'))).toEqual([])
})

test('this release has a page, listed in the index, on what changes, who is affected and what to do', () => {
  const page = `release-${RELEASE}.md`
  const text = readFileSync(join(ROOT, 'docs/releases', page), 'utf8')
  expect(text).toContain('| change | impact | action |')
  expect(readFileSync(join(ROOT, 'docs/releases/README.md'), 'utf8')).toContain(`(${page})`)
})

const previous = readFileSync(join(ROOT, 'test/previous-release'), 'utf8').trim()
// A copy or a shallow clone does not have the commit.
const hasPrevious = spawnSync('git', ['cat-file', '-e', previous], { cwd: ROOT }).status === 0

test.skipIf(!hasPrevious)('the previous release has the preceding number', () => {
  const source = execFileSync('git', ['show', `${previous}:packages/lib/src/process/release.ts`], { cwd: ROOT })
  expect(/^export const RELEASE = (\d+)$/m.exec(String(source))?.[1]).toBe(String(RELEASE - 1))
})

test.skipIf(!hasPrevious)('the previous release’s migrations come first, unchanged', () => {
  const git = (...args: string[]) => execFileSync('git', args, { cwd: ROOT, encoding: 'utf8' })
  const released = git('ls-tree', '--name-only', `${previous}:${FOLDER}`).trim().split('\n')
  expect(files.slice(0, released.length), 'a new migration has a later number').toEqual(released)
  const differs = released.filter(
    (name) => git('show', `${previous}:${FOLDER}/${name}`) !== readFileSync(join(ROOT, FOLDER, name), 'utf8'),
  )
  expect(differs, 'released migrations never change').toEqual([])
})

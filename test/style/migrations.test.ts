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
  `alerts audit_log daily_sales deliveries delivery_attempts es2plus_orders esim_actions esim_go_claims esim_go_orders events
   mails mobimatter_orders order_items orders orphans profiles request_ids resolved_codes sandbox_actions sandbox_issued
   stock_codes supplier_attempts supplier_questions transfers unclaimed_esims watched_items`.split(/\s+/),
)

/** Statements on a table that existed before the file, by whether it grows; undefined: any kind of table. */
const KINDS: readonly { matches: RegExp; growing?: boolean; fault?: string }[] = [
  { matches: /^create (or replace )?(function|view)\b/ },
  { matches: /^comment on\b/ },
  { matches: /^alter table \S+ validate constraint\b/ }, // lets others read and write
  { matches: /^alter table \S+ set \((fillfactor|autovacuum)/ },
  {
    matches: /^drop (table|view|function|type|schema)\b/,
    fault: 'the release before still uses it: contract in three steps',
  },
  { matches: /\b(drop column|rename)\b/, fault: 'the release before still uses it: contract in three steps' },
  {
    matches: /\balter column \S+ (set data )?type\b/,
    fault: 'rewrites the table, and the release before reads the old type',
  },
  { matches: /\bset not null\b/, fault: 'the release before writes null' },
  {
    matches: /\badd column\b(?!.*\bdefault\b).*\bnot null\b/,
    fault: 'the release before leaves it out: give it a constant default',
  },
  {
    matches: /\badd column\b.*\bdefault (now|clock_timestamp|gen_random_uuid|nextval|random)\(/,
    growing: true,
    fault: 'a default that is computed for each row rewrites the table',
  },
  {
    matches: /\badd column\b.*\b(references|unique|primary key|generated|check)\b/,
    growing: true,
    fault: 'reads or rewrites every row: add the constraint as not valid, and validate it in a later file',
  },
  { matches: /^alter table \S+( add column .*)+$/ },
  { matches: /^alter table \S+ add constraint .* not valid$/ },
  { matches: /^alter table \S+ drop constraint\b/ },
  {
    matches: /^alter table \S+ add constraint\b/,
    growing: true,
    fault: 'reads every row while nobody may write: add it as not valid, and validate it in a later file',
  },
  { matches: /^create (unique )?index\b/, growing: true, fault: 'nobody may write while it is built' },
  { matches: /^(insert|update|delete)\b/, growing: true, fault: 'a job changes many rows, not a migration' },
  {
    matches:
      /^(alter table \S+ (add|alter|drop) |create (unique )?index|create trigger|insert into|update|delete from)/,
  },
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
  return statements.flatMap((statement) => {
    const [, table] = /^create (?:unlogged )?table (?:if not exists )?(\w+) ?\(/.exec(statement) ?? []
    if (table !== undefined) {
      created.add(table)
      return []
    }
    const on = tableOf(statement)
    if (on !== undefined && created.has(on)) return [] // nobody uses it yet
    const isGrowing = on === undefined || GROWING.has(on)
    const kind = KINDS.find(({ matches, growing }) => matches.test(statement) && (growing === undefined || isGrowing))
    if (kind?.fault !== undefined) return [`${statement}: ${kind.fault}`]
    return kind === undefined ? [`${statement}: no kind of statement that is known to block nobody (KINDS)`] : []
  })
}

function tableOf(statement: string): string | undefined {
  return (/^(?:alter table (?:only )?|insert into |update |delete from )(\w+)/.exec(statement) ??
    /^create (?:unique )?(?:index|trigger)\b.*? on (\w+)/.exec(statement))?.[1]
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
  ['create function f() returns int language sql as $$ select 1; drop table orders $$', undefined],
])('%s', (sql, fault) => {
  const faults = faultsOf(sql)
  if (fault === undefined) expect(faults).toEqual([])
  else expect(faults.join()).toMatch(fault)
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

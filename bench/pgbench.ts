import { spawnSync } from 'node:child_process'
import { existsSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { PLAIN_OPTIONS, PLAIN_ORDER } from './plain-sql.ts'

const SECONDS = 5
const DEBIAN = '/usr/lib/postgresql'

/** Runs the hand-written SQL under PostgreSQL's own load generator. @returns orders/s; undefined if it is not installed */
export async function pgbenchRate(url: string, tenantIds: string[], connections: number): Promise<number | undefined> {
  const program = findPgbench()
  if (!program) return undefined
  const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-pgbench-'))
  const script = join(folder, 'order.sql')
  writeFileSync(script, pgbenchScript(tenantIds))
  const args = ['-n', '-M', 'prepared', '-c', String(connections), '-j', '2', '-T', String(SECONDS), '-f', script, url]
  const { stdout, status, stderr } = spawnSync(program, args, {
    encoding: 'utf8',
    env: { ...process.env, PGOPTIONS: PLAIN_OPTIONS },
  })
  rmSync(folder, { recursive: true })
  if (status !== 0) throw new Error(`pgbench failed: ${stderr.slice(-500)}`)
  return Number(/tps = ([\d.]+)/.exec(stdout)?.[1])
}

function findPgbench(): string | undefined {
  if (spawnSync('pgbench', ['--version']).status === 0) return 'pgbench'
  const versions = existsSync(DEBIAN) ? readdirSync(DEBIAN).sort().reverse() : []
  return versions.map((version) => join(DEBIAN, version, 'bin/pgbench')).find((path) => existsSync(path))
}

function pgbenchScript(tenantIds: string[]): string {
  const array = `('{${tenantIds.join(',')}}'::uuid[])[:n]`
  const values: Record<string, string> = {
    $1: array,
    $2: 'ids.order_id',
    $3: 'ids.transaction_id',
    $4: '45000',
    $5: `'[{"packageCode":"JP_1_7","packageName":"Japan, 1 GB, 7 days","count":1,"price":45000}]'`,
    $6: 'ids.event_id',
    $7: `'{"orderStatus":"PAID","sequence":1,"amount":45000,"currencyCode":"USD"}'`,
  }
  // Ids are created once per order because all parts of the statement use them.
  const ids = `with ids as materialized (select ${uuid7} as order_id, ${uuid7} as event_id, gen_random_uuid()::text as transaction_id), debited as (`
  const body = PLAIN_ORDER.replace('with debited as (', ids).replace(
    /\$\d/g,
    (parameter) => values[parameter] ?? parameter,
  )
  const joined = body.replaceAll('from debited', 'from debited, ids')
  return `\\set n random(1, ${tenantIds.length})\n${joined.replace('select balance from debited, ids', 'select balance from debited').replace(/\s+/g, ' ').trim()};\n`
}

/** A UUIDv7 of the current time, as in the application, because their order affects the indexes. */
const uuid7 = `(lpad(to_hex((extract(epoch from clock_timestamp()) * 1000)::bigint), 12, '0') || '7' || substr(md5(random()::text), 1, 3) || '8' || substr(md5(random()::text), 1, 15))::uuid`

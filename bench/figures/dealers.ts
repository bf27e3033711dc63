import { execFileSync } from 'node:child_process'
import { setTimeout as delay } from 'node:timers/promises'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import { compare, type Result } from '../compare.ts'
import { cpuTimeUs, parentOf, serverCpuTimeUs } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'

const FEW = 100
const MANY = 10_000
/** Time after the start for the first ledger check of the day and the first pass of every loop. */
const SETTLE_MS = 30_000
/** Every loop passes at least once, except those that pass every ten minutes. */
const WINDOW_MS = 60_000
const MEMORY_MORE_MB = 50

interface Idle {
  startMs: number
  cpuMs: number
  transactions: number
  memoryMb: number
}

export const dealers: Figure = {
  name: 'dealers',
  summary: `an idle gateway with ${MANY} dealers against one with ${FEW}: processor time, transactions, start, memory`,
  async run(bench) {
    const many = await bench.createDatabase('dealers-many')
    try {
      await addDealers(bench.db, FEW)
      await addDealers(many.db, MANY)
      const measured: { many: Idle[]; few: Idle[] } = { many: [], few: [] }
      for (let round = 0; round < bench.rounds; round++) {
        const sides = [
          async () => measured.many.push(await measureIdle(many)),
          async () => measured.few.push(await measureIdle(bench)),
        ]
        for (const side of round % 2 === 0 ? sides : sides.toReversed()) await side()
      }
      const ratio = (name: string, what: string, max: number, value: (idle: Idle) => number, allowance = 0) =>
        compareMeasured(bench, measured, { name, what, max, value, allowance })
      return [
        await ratio('processor time', 'ms of gateway and server in a minute', 1.2, (idle) => idle.cpuMs),
        await ratio('transactions', 'transactions in a minute', 1.2, (idle) => idle.transactions),
        await ratio('start', 'ms from the start of the process to ready', 2, (idle) => idle.startMs),
        await ratio(
          'memory',
          `resident MB of the gateway, against ${MEMORY_MORE_MB} MB more`,
          1,
          (idle) => idle.memoryMb,
          MEMORY_MORE_MB,
        ),
      ]
    } finally {
      await many.drop()
    }
  },
}

interface Ratio {
  name: string
  what: string
  max: number
  value(idle: Idle): number
  allowance: number
}

function compareMeasured(
  bench: Environment,
  { many, few }: { many: Idle[]; few: Idle[] },
  { name, what, max, value, allowance }: Ratio,
): Promise<Result> {
  return compare({
    name: `dealers: ${name}`,
    what: `${what}, ${MANY} idle dealers against ${FEW}`,
    aim: { max },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: async (round) => value(many[round]!),
    against: async (round) => value(few[round]!) + allowance,
    notes: ['each dealer has a wallet, an endpoint, and a delivered order with a living and an expired eSIM'],
  })
}

async function measureIdle({ db, startAll }: Pick<Environment, 'db' | 'startAll'>): Promise<Idle> {
  const startedAt = performance.now()
  const gateway = await startAll()
  const startMs = performance.now() - startedAt
  try {
    const [backend] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
    const server = parentOf(backend!.pid)!
    await delay(SETTLE_MS)
    const cpuUs = () => (cpuTimeUs(gateway.pid) ?? Number.NaN) + serverCpuTimeUs(server)
    const [cpuBeforeUs, before] = [cpuUs(), await transactionsOf(db)]
    await delay(WINDOW_MS)
    const [cpuAfterUs, after] = [cpuUs(), await transactionsOf(db)]
    const memoryMb = Number(execFileSync('ps', ['-o', 'rss=', '-p', String(gateway.pid)], { encoding: 'utf8' })) / 1024
    return { startMs, cpuMs: (cpuAfterUs - cpuBeforeUs) / 1000, transactions: after - before, memoryMb }
  } finally {
    await gateway.stop()
  }
}

async function transactionsOf(db: Db): Promise<number> {
  const [row] = await db.query<{ count: number }>({
    text: 'select (xact_commit + xact_rollback)::float8 as count from pg_stat_database where datname = current_database()',
  })
  return row!.count
}

/** Dealers who have sold something and have nothing due. */
async function addDealers(db: Db, count: number): Promise<void> {
  const ofDealer = 'from dealers d'
  const statements = [
    `create table dealers as select gen_random_uuid() as tenant_id, gen_random_uuid() as order_id, n
     from generate_series(1, ${count}) n`,
    `insert into tenants (tenant_id, app_key, tenant_name, currency_code)
     select tenant_id, 'ak_main_' || replace(order_id::text, '-', ''), 'Idle ' || n, 'USD' ${ofDealer}`,
    `insert into wallets (tenant_id, currency_code, updated_at)
     select tenant_id, 'USD', date_trunc('milliseconds', now()) ${ofDealer}`,
    `insert into webhook_endpoints (tenant_id) select tenant_id ${ofDealer}`,
    `insert into orders (tenant_id, order_id, transaction_id, order_status, amount, currency_code, balance_after,
       wallet_version, package_lines, status_history, event_sequence, created_at, updated_at)
     select tenant_id, order_id, n, 'DELIVERED', 0, 'USD', 0, 0, '[]', '[]', 2, now(), now() ${ofDealer}`,
    `insert into order_items (tenant_id, order_id, item_no, line_no, package_code, price, item_status, supplier,
       product_code, updated_at)
     select tenant_id, order_id, item, 1, 'P', 0, 'DELIVERED', 'sandbox', 'P', now() ${ofDealer}, generate_series(1, 2) item`,
    `insert into profiles (tenant_id, profile_id, order_id, item_no, supplier, iccid, smdp_address, secrets, esim_status,
       total_duration, duration_unit, install_before, expired_time, created_at, updated_at)
     select tenant_id, gen_random_uuid(), order_id, item, 'sandbox', lpad((2 * n + item)::text, 19, '8'), 'smdp.example', '',
       case item when 1 then 'GOT_RESOURCE' else 'USED_EXPIRED' end, 7, 'DAY', now() + interval '100 days', now(),
       now(), now() ${ofDealer}, generate_series(1, 2) item`,
    'drop table dealers',
    'vacuum analyze',
  ]
  for (const text of statements) await db.query({ text })
}

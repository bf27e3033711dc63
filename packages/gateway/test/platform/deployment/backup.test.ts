import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DEFAULT_SCHEMA } from '@dealer-esim/lib/postgres/schema.ts'
import { DealerEsim } from '@dealer-esim/sdk'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type DumpServer, installedPostgres, startDumpServer } from '#test/dump-server.ts'
import { adminJson } from '#test/harness/processes/admin-process.ts'
import { startGateway, stopGateways } from '#test/harness/processes/gateway-process.ts'

/** The tools that an operator has for a dump and its restore. */
const bin = installedPostgres()
if (bin === undefined)
  console.warn('\nTHE BACKUP IS NOT DRILLED: there is no PostgreSQL with pg_dump on this machine.\n')

const MASTER_KEY = '0b'.repeat(32)
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-backup-'))
let server: DumpServer
beforeAll(async () => {
  if (bin) server = await startDumpServer(bin)
})
afterAll(async () => {
  await stopGateways()
  await server?.stop()
  rmSync(folder, { recursive: true, force: true })
})

const line = (packageCode: string) => [{ packageCode, count: 1 }]

describe.skipIf(bin === undefined)('a gateway on a restored dump', () => {
  test('delivers waiting orders, knows the sold eSIMs and has a consistent ledger', async () => {
    server.run('createdb', ['--maintenance-db', server.url('postgres'), 'sold'])
    // Role api, so that no lease is held when the dump is made; a lease would only cost 30 seconds.
    const env = { MASTER_KEY }
    const before = await startGateway({ databaseUrl: server.url('sold'), dataDir: folder, role: 'api', env })
    const { appKey, appSecret } = JSON.parse(readFileSync(join(folder, 'local.json'), 'utf8'))
    const dealer = new DealerEsim({ baseUrl: before.baseUrl, appKey, appSecret })
    const sold = await dealer.order({ transactionId: 'BACKUP-1', packageInfoList: line('JP_1_7') })
    const { balance } = await dealer.balance()

    const dump = join(folder, 'dealer-esim.dump')
    server.run('pg_dump', ['--format=custom', `--file=${dump}`, server.url('sold')])
    await before.kill('SIGKILL')
    const maintenance = ['--maintenance-db', server.url('postgres')]
    server.run('createdb', [...maintenance, '--encoding', 'UTF8', '--template', 'template0', 'restored'])
    server.run('pg_restore', ['--no-owner', '--exit-on-error', '--dbname', server.url('restored'), dump])

    const database = {
      ...{ DATABASE_URL: server.url('restored'), DATABASE_SCHEMA: DEFAULT_SCHEMA },
      ...{ DATA_DIR: folder, MASTER_KEY },
    }
    const after = await startGateway({ databaseUrl: database.DATABASE_URL, dataDir: folder, env })
    const again = new DealerEsim({ baseUrl: after.baseUrl, appKey, appSecret })
    expect(await again.balance()).toMatchObject({ balance })
    expect(await again.order({ transactionId: 'BACKUP-1', packageInfoList: line('JP_1_7') })).toMatchObject({
      orderNo: sold.orderNo,
      balanceAfter: sold.balanceAfter,
      replayed: true,
    })
    const next = await again.order({ transactionId: 'BACKUP-2', packageInfoList: line('JP_1_7') })
    expect(next.balanceAfter).toBe(balance - next.amount)
    for (const transactionId of ['BACKUP-1', 'BACKUP-2']) await delivered(again, transactionId)
    expect(await adminJson(['ledger', 'verify'], database)).toMatchObject({ ok: true, orders: 2 })
    expect(await adminJson(['doctor'], { ...database, METRICS_PORT: '0' })).toMatchObject({ ok: true })
  })
})

async function delivered(dealer: DealerEsim, transactionId: string): Promise<void> {
  await expect
    .poll(async () => (await dealer.query({ transactionId })).orderStatus, { timeout: 30_000, interval: 100 })
    .toBe('DELIVERED')
}

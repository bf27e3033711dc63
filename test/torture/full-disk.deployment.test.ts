import { execFileSync, spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync, statfsSync, writeSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { readRunningPostgres } from '@dealer-esim/embedded-postgres'
import { call, type Dealer } from '@dealer-esim/gateway/test/harness/api-node.ts'
import { reportFigures } from '@dealer-esim/gateway/test/harness/figures.ts'
import {
  type GatewayProcess,
  startGateway,
  stopGateways,
} from '@dealer-esim/gateway/test/harness/processes/gateway-process.ts'
import { waitUntil } from '@dealer-esim/gateway/test/harness/shop.ts'
import { expectRecordsToAgree } from '@dealer-esim/gateway/test/orders/load-records.ts'
import { startOrderLoad } from '@dealer-esim/gateway/test/orders/order-load.ts'
import { letLeasesExpire } from '@dealer-esim/gateway/test/platform/deployment/failover-load.ts'
import { type Receiver, startReceiver } from '@dealer-esim/gateway/test/webhooks/receiver.ts'
import { topUp } from '@dealer-esim/gateway/wallet/ledger/top-up-wallet.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { afterAll, beforeAll, expect, it, onTestFinished } from 'vitest'

/*
 * A gateway with its PostgreSQL on a disk that another program fills under a load of orders. PostgreSQL refuses writes, or
 * ends because it cannot write its log. Once there is space again, it recovers by itself, and all records agree.
 */

const DISK = '400m'
const CALLERS = 4
/** Orders that are refused while the disk is full. */
const REFUSED = 20
const PATIENCE_MS = 60_000

const dataDir = mkdtempSync(join(tmpdir(), 'dealer-esim-disk-'))
const isMounted = spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${DISK},mode=777`, 'tmpfs', dataDir]).status === 0
if (!isMounted) console.warn('NOT RUN: a full disk. This user may not mount a tmpfs.')

let receiver: Receiver
let gateway: GatewayProcess
let dealer: Dealer
beforeAll(async () => {
  if (!isMounted) return
  receiver = await startReceiver()
  gateway = await startGateway({ dataDir, env: { DEFAULT_QPS_LIMIT: '100000', CONSOLE: 'off' } })
  const { appKey, appSecret } = JSON.parse(readFileSync(join(dataDir, 'local.json'), 'utf8'))
  dealer = { appKey, appSecret, tenantId: '' }
  dealer.tenantId = (await call(gateway, dealer, 'health')).data.tenantId
  const body = JSON.stringify({ callbackUrl: receiver.url, eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'] })
  expect((await call(gateway, dealer, 'webhook/set', { body })).code).toBe('000000')
})
afterAll(async () => {
  if (isMounted) {
    await stopGateways()
    await receiver.close()
    execFileSync('umount', [dataDir])
  }
  rmSync(dataDir, { recursive: true, force: true })
})

/** Writes a file until no byte fits any more. */
function fillDisk(file: string): void {
  // PostgreSQL removes files that it could not write.
  do appendUntilFull(file)
  while (statfsSync(file).bavail > 0)
}

function appendUntilFull(file: string): void {
  const fd = openSync(file, 'a')
  try {
    for (let chunk = Buffer.alloc(1024 * 1024); chunk.length > 0; ) {
      try {
        if (writeSync(fd, chunk) === 0) chunk = chunk.subarray(chunk.length / 2)
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
        chunk = chunk.subarray(Math.ceil(chunk.length / 2))
      }
    }
  } finally {
    closeSync(fd)
  }
}

it.skipIf(!isMounted)(
  'loses and repeats nothing when the disk of the database is full for a while',
  {
    timeout: 240_000,
  },
  async () => {
    const db = createDb({
      url: (await waitUntil(async () => readRunningPostgres(dataDir))).url,
      poolSize: 2,
      applicationName: 'test',
    })
    await topUp(
      { db, ids: systemIds },
      { tenantId: dealer.tenantId, amount: 10_000_000_000n, reference: 'plenty' },
      { actor: 'cli:tester' },
    )
    const load = startOrderLoad(dealer, CALLERS, () => [{ packageCode: 'JP_1_7', count: 1 }])
    const filler = join(dataDir, 'filler')
    onTestFinished(() => {
      rmSync(filler, { force: true })
      void load.stop()
    })
    load.sendTo(gateway)
    await load.waitForMore(30)
    fillDisk(filler)
    const before = load.requested.length
    const refused = () => load.requested.slice(before).filter(({ answers: [first] }) => first?.code === '000002').length
    await waitUntil(async () => refused() > REFUSED, PATIENCE_MS)
    rmSync(filler)
    await load.waitForMore(30)
    await load.stop()
    await letLeasesExpire(db)
    reportFigures({ fullDisks: 1, refused: refused() })
    await expectRecordsToAgree({ gateway, dealer, db, requested: load.requested, receiver }, PATIENCE_MS)
    await db.close()
  },
)

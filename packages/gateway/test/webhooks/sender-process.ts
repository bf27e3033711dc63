import { createDatabaseClock, systemClock } from '@dealer-esim/lib/clock.ts'
import { createCipher } from '@dealer-esim/lib/crypto.ts'
import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import { createWakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import { createMetrics } from '@dealer-esim/lib/telemetry/metrics.ts'
import { webhooksLoop } from '#webhooks/sending/sender.ts'

// A sender process that is killed by a test. argv: database, master key, how far its clock is ahead (ms).
const [url, key, aheadMs] = process.argv.slice(2) as [string, string, string]
const db = createDb({ url, poolSize: 4, applicationName: 'webhooks sender' })
const read = createDatabaseClock(systemClock)
webhooksLoop({
  config: { deployment: 'local', mode: 'LIVE' },
  log: silentLog,
  db,
  ids: systemIds,
  linkKey: Buffer.alloc(32, 9),
  cipher: createCipher([Buffer.from(key, 'hex')]),
  clock: systemClock,
  databaseClock: { now: () => read.now() + Number(aheadMs), observe: read.observe },
  outbound: createOutbound(),
  wake: createWakeups({ url, nodeId: String(process.pid), onError: () => {} }),
  metrics: createMetrics(),
})
process.send?.('started')

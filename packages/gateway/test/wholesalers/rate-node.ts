import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createDb } from '@dealer-esim/lib/postgres/db.ts'
import type { EsimAccessConfig } from '@dealer-esim/wholesalers/esim-access/client.ts'
import { esimAccessSupplier } from '@dealer-esim/wholesalers/esim-access/esim-access.ts'

/* Calls a wholesaler continuously until it is killed, and reports when it sends: node rate-node.ts DATABASE_URL CONFIG. */
const [url = '', config = ''] = process.argv.slice(2)
const db = createDb({ url, poolSize: 4, applicationName: 'test rate' })
const outbound = createOutbound()
const reporting: typeof outbound = {
  ...outbound,
  request(request) {
    process.send!(performance.timeOrigin + performance.now())
    return outbound.request(request)
  },
}
const deps = { db, ids: systemIds, outbound: reporting }
const supplier = esimAccessSupplier('wholesaler', JSON.parse(config) as EsimAccessConfig, deps)
const CALLS_AT_ONCE = 4
for (let call = 0; call < CALLS_AT_ONCE; call++) void callForEver()

async function callForEver(): Promise<void> {
  for (;;) await supplier.balance!()
}

import { actionLoop } from '../../src/actions/loop.ts'
import { fulfilmentLoop } from '../../src/fulfilment/loop.ts'
import { openShop } from './shop.ts'

/*
 * Fulfilment and actions of one node in a separate process, to be killed: node fulfilment-node.ts DATABASE_URL. Writes `ready` and works
 * until it is killed. PAUSE_AT names a failpoint.
 */
const [url = ''] = process.argv.slice(2)
const shop = await openShop(url)
for (const { supplier } of shop.suppliers.all()) {
  // Unknown outcomes are resolved at once, so that tests need not wait.
  Object.assign(supplier.traits, { settlesMs: 0 })
}
fulfilmentLoop(shop)
actionLoop(shop)
process.stdout.write('ready\n')

import { actionLoop } from '#esims/actions/action-loop.ts'
import { fulfilmentLoop } from '#fulfilment/fulfilment-loop.ts'
import { createShop } from '../shop.ts'

/*
 * Runs one node's fulfilment and actions in a separate process: node fulfilment-node.ts DATABASE_URL. Writes `ready` and
 * runs until it is killed. PAUSE_AT specifies a failpoint.
 */
const [url = ''] = process.argv.slice(2)
const shop = await createShop(url)
for (const { supplier } of shop.suppliers.all()) {
  // Unknown outcomes are resolved immediately, so that tests do not have to wait.
  Object.assign(supplier.traits, { graceMs: 0 })
}
fulfilmentLoop(shop)
actionLoop(shop)
process.stdout.write('ready\n')

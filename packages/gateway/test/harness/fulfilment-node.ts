import { fulfilmentLoop } from '../../src/fulfilment/loop.ts'
import { openShop } from './shop.ts'

/*
 * One node's fulfilment in a process of its own, to be crashed: node fulfilment-node.ts DATABASE_URL. It writes `ready`
 * and works until it is killed. PAUSE_AT names where it stops by itself.
 */
const [url = ''] = process.argv.slice(2)
const shop = await openShop(url)
for (const { supplier } of shop.suppliers.all()) {
  // What is in doubt is over soon, so that a test need not wait for it.
  Object.assign(supplier.traits, { settlesMs: 0 })
}
fulfilmentLoop(shop)
process.stdout.write('ready\n')

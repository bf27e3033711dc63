import { createSimulator } from '@dealer-esim/wholesaler-simulators'
import { createOutbound } from '../../src/lib/outbound/outbound.ts'
import { zenditSupplier } from '../../src/suppliers/zendit/zendit.ts'
import { addSupplier, type Shop } from '../harness/shop.ts'
import { type FixtureFactory, withShortTimes } from './supplier-fixtures.ts'
import { firstProduct, simulatedFaults, soldAtSimulator } from './wholesalers/simulator-fixtures.ts'

/** Each fixture buys from an account of its own at a simulator. */
export async function createZenditFixtures(shop: Shop): Promise<FixtureFactory> {
  const outbound = createOutbound()
  return {
    async create(name, timeoutMs) {
      const simulator = await createSimulator('zendit', { catalogueSize: 3 })
      const { apiKey = '' } = simulator.credentials
      const config = { url: simulator.url, apiKey, timeoutMs }
      await addSupplier(shop, name, 'zendit', config)
      const inner = zenditSupplier(name, config, { outbound })
      return Object.assign(simulatedFaults(simulator, timeoutMs), {
        supplier: withShortTimes(inner, timeoutMs, true),
        product: await firstProduct(inner),
        canAnswerQueries: true,
        canCancel: true,
        listSold: async () => soldAtSimulator(simulator),
        close: () => simulator.close(),
      })
    },
    close: () => outbound.close(),
  }
}

import { systemIds } from '@dealer-esim/lib/ids.ts'
import { createOutbound, type Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { createSimulator, type Form, type Simulator } from '@dealer-esim/wholesaler-simulators'
import type {
  Outcome,
  SuppliedEsim,
  Supplier,
  SupplierProduct,
  SupplierRequest,
} from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { createTestDatabase } from '../harness/databases/database.ts'
import { addSupplier, createShop, type Shop } from '../harness/shop.ts'
import { chooseProducts } from './simulator-fixtures.ts'

interface Wholesaler<Config> {
  kind: 'airalo' | 'esim-access' | 'esim-go' | 'mobimatter'
  catalogueSize: number
  /** Answer forms other than the usual one. */
  forms?: readonly Form[]
  configOf(simulator: Simulator): Config
  create(name: string, config: Config, deps: Shop & { outbound: Outbound }): Supplier
}

type Changes<Config> = { [Name in keyof Config]?: Config[Name] | undefined }

/** A supplier `wholesaler` that uses its wholesaler's simulator, where purchases are counted. */
export async function createWholesalerTestbed<Config extends object>(wholesaler: Wholesaler<Config>) {
  const database = await createTestDatabase()
  const shop = await createShop(database.url)
  const outbound = createOutbound()
  const { kind, catalogueSize, forms = [] } = wholesaler
  const simulator = await createSimulator(kind, { catalogueSize, forms })
  const config = wholesaler.configOf(simulator)
  await addSupplier(shop, 'wholesaler', kind, config)
  /** Another node's supplier, or one with different settings. */
  const create = (changes: Changes<Config> = {}, name = 'wholesaler'): Supplier =>
    wholesaler.create(name, { ...config, ...changes } as Config, { ...shop, outbound })
  const supplier = create()
  const products: SupplierProduct[] = []
  for await (const product of readableProducts(supplier)) products.push(product)
  const { base, topUp } = chooseProducts(products)
  let keys = 0

  function requestOf(changes: Partial<SupplierRequest> = {}): SupplierRequest {
    keys += 1
    const { productCode } = base
    return { tenantId: 'T', orderId: systemIds.uuid(), itemNo: 1, key: `KEY-${keys}`, productCode, ...changes }
  }

  async function order(request: SupplierRequest, by = supplier): Promise<Outcome> {
    const [outcome] = await (request.topUp ? by.topUp!([request as never]) : by.order([request]))
    return outcome!
  }

  async function query(
    request: SupplierRequest,
    purpose: 'RESUME' | 'CHECK' = 'RESUME',
    by = supplier,
  ): Promise<Outcome> {
    const [outcome] = await by.query([request], purpose)
    return outcome!
  }

  return {
    shop,
    simulator,
    config,
    create,
    supplier,
    products,
    /** The package that requests use by default. */
    base: base,
    requestOf,
    order,
    query,
    async buy(request = requestOf()): Promise<SuppliedEsim & SupplierRequest> {
      const outcome = await order(request)
      if (outcome.kind !== 'delivered') throw new Error(`it answered ${JSON.stringify(outcome)}`)
      const { iccid, matchingId } = outcome.esim
      return { ...request, reference: outcome.reference, iccid, matchingId, shown: true }
    },
    topUpOf(
      { key, reference, iccid, matchingId }: SuppliedEsim,
      changes: Partial<SupplierRequest> = {},
    ): SupplierRequest {
      const esim = { key, reference, iccid, matchingId }
      return requestOf({ productCode: topUp.productCode, topUp: esim, ...changes })
    },
    /** Proceeds as fulfilment does: queries a purchase whose outcome is unknown, and orders again if nothing was bought. */
    async untilDecided(request: SupplierRequest, by = supplier): Promise<Outcome> {
      let outcome = await order(request, by)
      for (let step = 0; step < 50; step++) {
        if (outcome.kind === 'unknown' || outcome.kind === 'ordered') outcome = await query(request, 'RESUME', by)
        else if (outcome.kind === 'retry') outcome = await order(request, by)
        else return outcome
      }
      throw new Error(`it is not decided: ${JSON.stringify(outcome)}`)
    },
    takenOf: ({ key }: { key: string }) => simulator.counters().takenByKey[key] ?? 0,
    async close() {
      await simulator.close()
      await outbound.close()
      await shop.close()
      await database.drop()
    },
  }
}

import { createSimulator, type Simulator, type Fault as SimulatorFault } from '@dealer-esim/wholesaler-simulators'
import { createOutbound } from '../../../src/lib/outbound/outbound.ts'
import { airaloSupplier } from '../../../src/suppliers/airalo/airalo.ts'
import { esimAccessSupplier } from '../../../src/suppliers/esim-access/esim-access.ts'
import { esimGoSupplier } from '../../../src/suppliers/esim-go/esim-go.ts'
import { mobimatterSupplier } from '../../../src/suppliers/mobimatter/mobimatter.ts'
import type { Supplier } from '../../../src/suppliers/supplier.ts'
import { zenditSupplier } from '../../../src/suppliers/zendit/zendit.ts'
import { addSupplier, type Shop } from '../../harness/shop.ts'
import { type Fault, type FixtureFactory, LATE_BY_MS, type Switches, withShortTimes } from '../supplier-fixtures.ts'

/** The suppliers that are tested at simulators. */
const CREATE = {
  airalo: airaloSupplier,
  'esim-access': esimAccessSupplier,
  'esim-go': esimGoSupplier,
  mobimatter: mobimatterSupplier,
  zendit: zenditSupplier,
} as const

interface Simulated {
  /** The operation that buys: its requests get the faults. */
  buys?: string
  canCancel?: boolean
}

/** Each fixture buys from an account of its own at a simulator. */
export async function createSimulatorFixtures(
  shop: Shop,
  kind: keyof typeof CREATE,
  { buys = 'order', canCancel = true }: Simulated = {},
): Promise<FixtureFactory> {
  const outbound = createOutbound()
  return {
    async create(name, timeoutMs) {
      const simulator = await createSimulator(kind, { catalogueSize: 3 })
      const config = { url: simulator.url, ...simulator.credentials, timeoutMs, perSecond: 1_000 }
      await addSupplier(shop, name, kind, config)
      // The credentials of a simulator are those of its kind.
      const inner = CREATE[kind](name, config as never, { ...shop, outbound })
      return Object.assign(simulatedFaults(simulator, buys, timeoutMs), {
        supplier: withShortTimes(inner, timeoutMs, true),
        product: await firstProduct(inner),
        canAnswerQueries: true,
        canCancel,
        listSold: async () => soldAtSimulator(simulator),
        close: () => simulator.close(),
      })
    },
    close: () => outbound.close(),
  }
}

/** A package for new eSIMs that is not sold by the day. */
export async function firstProduct(supplier: Supplier): Promise<string> {
  for await (const product of supplier.catalogue!()) {
    if (product.packageType === 'BASE' && !product.isDayPass) return product.productCode
  }
  throw new Error(`the catalogue of ${supplier.name} has no package for new eSIMs`)
}

function soldAtSimulator(simulator: Simulator): string[] {
  return simulator
    .orders()
    .flatMap(({ kind, state, iccids }) => (kind === 'eSIM' && state === 'delivered' ? iccids : []))
}

/** Faults of a conformance fixture at a simulator. Each but a refusal hits as many requests as a case has eSIMs. */
function simulatedFaults(simulator: Simulator, operation: string, timeoutMs: number): Switches {
  const faults: Record<Fault, SimulatorFault[]> = {
    none: [],
    refuse: [{ kind: 'out-of-stock', operation }],
    half: [{ kind: 'out-of-stock', operation, every: 2 }],
    late: [{ kind: 'slow-answer', operation, delayMs: timeoutMs + LATE_BY_MS, times: 6 }],
    lost: [{ kind: 'answer-lost', operation, times: 6 }],
    dies: [
      { kind: 'request-lost', operation, every: 2, times: 3 },
      { kind: 'answer-lost', operation, every: 2, skip: 1, times: 3 },
    ],
  }
  const switches = { fault: 'none' as Fault, ignoresQueries: false }
  function apply() {
    simulator.clearFaults()
    for (const fault of faults[switches.fault]) simulator.addFault(fault)
    if (!switches.ignoresQueries) return
    for (const query of ['query', 'list']) simulator.addFault({ kind: 'request-lost', operation: query })
  }
  return {
    get fault() {
      return switches.fault
    },
    set fault(fault: Fault) {
      switches.fault = fault
      apply()
    },
    get ignoresQueries() {
      return switches.ignoresQueries
    },
    set ignoresQueries(ignoresQueries: boolean) {
      switches.ignoresQueries = ignoresQueries
      apply()
    },
  }
}

import { get } from 'node:http'
import { createOutbound } from '@dealer-esim/lib/outbound/outbound.ts'
import {
  createSimulator,
  type Form,
  type Simulator,
  type Fault as SimulatorFault,
} from '@dealer-esim/wholesaler-simulators'
import { airaloSupplier } from '@dealer-esim/wholesalers/airalo/airalo.ts'
import { esimAccessSupplier } from '@dealer-esim/wholesalers/esim-access/esim-access.ts'
import { esimGoSupplier } from '@dealer-esim/wholesalers/esim-go/esim-go.ts'
import { mobimatterSupplier } from '@dealer-esim/wholesalers/mobimatter/mobimatter.ts'
import type { Supplier, SupplierProduct } from '@dealer-esim/wholesalers/supplier.ts'
import { readableProducts } from '@dealer-esim/wholesalers/unreadable-entry.ts'
import { zenditSupplier } from '@dealer-esim/wholesalers/zendit/zendit.ts'
import { addSupplier, type Shop } from '../harness/shop.ts'
import { COUNT, ORDERS } from '../suppliers/conformance-cases.ts'
import { TOP_UPS } from '../suppliers/conformance-topups.ts'
import {
  type Fault,
  type FixtureFactory,
  LATE_BY_MS,
  type Switches,
  withShortTimes,
} from '../suppliers/supplier-fixtures.ts'
import { withSuccessiveCalls } from './successive-calls.ts'

/** The suppliers that are tested at simulators. */
export const CREATE = {
  airalo: airaloSupplier,
  'esim-access': esimAccessSupplier,
  'esim-go': esimGoSupplier,
  mobimatter: mobimatterSupplier,
  zendit: zenditSupplier,
} as const

interface Simulated {
  /** The operation that buys: faults apply to its requests. */
  buys?: string
  canCancel?: boolean
  /** A call waits for others about its package and may take four requests, so it gets more time than one request. */
  isSerial?: boolean
}

/** The kinds of simulators, and the differences between their interfaces. */
export const SIMULATED: Record<keyof typeof CREATE, Simulated> = {
  airalo: { canCancel: false },
  'esim-access': {},
  'esim-go': { isSerial: true },
  mobimatter: { buys: 'complete', canCancel: false },
  zendit: {},
}

/** They limit their requests even if the configuration does not specify a limit. */
const ALWAYS_LIMITED: ReadonlySet<string> = new Set(['esim-access', 'esim-go'])

/** Each fixture buys from a separate account at a simulator. */
export async function createSimulatorFixtures(
  shop: Shop,
  kind: keyof typeof CREATE,
  forms: readonly Form[] = [],
): Promise<FixtureFactory> {
  const { buys = 'order', canCancel = true, isSerial = false } = SIMULATED[kind]
  const outbound = createOutbound()
  /** All simulators of a kind have the same catalogue. */
  let products: ReturnType<typeof productsOf> | undefined
  return {
    async create(name, timeoutMs) {
      const simulator = await createSimulator(kind, { catalogueSize: 3, forms })
      const requestMs = isSerial ? timeoutMs / 2 : timeoutMs
      // A rate limit would delay requests on a busy machine, so only kinds that always have a limit get one.
      const rate = ALWAYS_LIMITED.has(kind) ? { perSecond: 1_000 } : {}
      const config = { url: simulator.url, ...simulator.credentials, timeoutMs: requestMs, ...rate }
      await addSupplier(shop, name, kind, config)
      // A simulator's credentials are those of its kind.
      const inner = CREATE[kind](name, config as never, { ...shop, outbound })
      const patient = CREATE[kind](name, { ...config, timeoutMs: 30_000 } as never, { ...shop, outbound })
      products ??= untilListed(patient)
      const purchases = { operation: buys, items: ORDERS * COUNT, crashes: isSerial ? 1 : (ORDERS * COUNT) / 2 }
      const topUps = { operation: 'topUp', items: TOP_UPS, crashes: TOP_UPS / 2 }
      const supplier = withSuccessiveCalls(inner, () => untilWorkedOff(simulator))
      return Object.assign(simulatedFaults(simulator, [purchases, topUps], timeoutMs, forms), {
        supplier: withShortTimes(supplier, isSerial ? 3 * timeoutMs : timeoutMs, true),
        ...(await products),
        countTopUps: async () => simulator.counters().toppedUp,
        canAnswerQueries: true,
        canCancel,
        isSerial,
        listSold: async () => soldAtSimulator(simulator),
        close: () => simulator.close(),
      })
    },
    close: () => outbound.close(),
  }
}

/** A package for new eSIMs that is not sold by the day. */
export async function firstProduct(supplier: Supplier): Promise<string> {
  return (await productsOf(supplier)).product
}

const LISTED_WITHIN_MS = 240_000

/**
 * Reads the catalogue until that succeeds: on a busy machine a request may be sent too late, or on a connection that is
 * being closed.
 */
async function untilListed(supplier: Supplier): ReturnType<typeof productsOf> {
  const deadline = performance.now() + LISTED_WITHIN_MS
  for (;;) {
    try {
      return await productsOf(supplier)
    } catch (error) {
      if (performance.now() > deadline) throw error
    }
  }
}

/** Like `firstProduct`, with a package that tops up its eSIMs: the same one if every package is both. */
async function productsOf(supplier: Supplier): Promise<{ product: string; topUpProduct: string }> {
  const listed: SupplierProduct[] = []
  for await (const product of readableProducts(supplier)) listed.push(product)
  const { base, topUp } = chooseProducts(listed)
  return { product: base.productCode, topUpProduct: topUp.productCode }
}

export function chooseProducts(products: readonly SupplierProduct[]): {
  base: SupplierProduct
  topUp: SupplierProduct
} {
  const listed = products.filter(({ isDayPass }) => !isDayPass)
  const base = listed.find(({ packageType }) => packageType === 'BASE')
  if (base === undefined) throw new Error('the catalogue has no package for new eSIMs')
  const topUp = listed.find(
    ({ packageType, countries }) => packageType === 'TOPUP' && countries.join() === base.countries.join(),
  )
  return { base, topUp: topUp ?? base }
}

/**
 * Connections are accepted in order, so the answer on a new one comes after everything that was sent to the simulator
 * before.
 */
function untilWorkedOff({ controlUrl }: Simulator): Promise<void> {
  return new Promise((resolve) => {
    get(controlUrl, { agent: false }, (answer) => answer.resume().once('close', resolve)).once('error', () => resolve())
  })
}

function soldAtSimulator(simulator: Simulator): string[] {
  return simulator
    .orders()
    .flatMap(({ kind, state, iccids }) => (kind === 'eSIM' && state === 'delivered' ? iccids : []))
}

interface FaultyOperation {
  operation: string
  /** The items in a case: this many requests get a late answer or none. */
  items: number
  /** This many requests and this many answers are lost in a crash. Each lost request costs a grace time. */
  crashes: number
}

/** Simulates the faults of a conformance fixture at a simulator. Requests after those that got a fault succeed. */
function simulatedFaults(
  simulator: Simulator,
  operations: FaultyOperation[],
  timeoutMs: number,
  forms: readonly Form[],
): Switches {
  // Where a framework answers for the interface, what is lost elsewhere has its answer.
  const isAnswered = forms.includes('proxy-answers')
  const [lostRequest, lostAnswer] = isAnswered
    ? (['server-error-before', 'server-error-after'] as const)
    : (['request-lost', 'answer-lost'] as const)
  const faultsOf = ({ operation, items, crashes }: FaultyOperation): Record<Fault, SimulatorFault[]> => ({
    none: [],
    refuse: [{ kind: 'out-of-stock', operation }],
    half: [{ kind: 'out-of-stock', operation, every: 2 }],
    late: [{ kind: 'slow-answer', operation, delayMs: timeoutMs + LATE_BY_MS, times: items }],
    lost: [{ kind: lostAnswer, operation, times: items }],
    dies: [
      { kind: lostRequest, operation, every: 2, times: crashes },
      { kind: lostAnswer, operation, every: 2, skip: 1, times: crashes },
    ],
  })
  const switches = { fault: 'none' as Fault, ignoresQueries: false }
  function apply() {
    simulator.clearFaults()
    for (const operation of operations)
      faultsOf(operation)[switches.fault].forEach((fault) => void simulator.addFault(fault))
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

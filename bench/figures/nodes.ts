import { setTimeout as delay } from 'node:timers/promises'
import { verifyLedger } from '@dealer-esim/gateway/wallet/verify/verify-ledger.ts'
import { compare, formatValue, median, type Result } from '../compare.ts'
import { cpuTimeUs, parentOf, serverCpuTimeUs } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import type { BenchGateway } from '../gateway.ts'
import { type Credentials, orderBody, requireSuccess, sendAll, sendPaced, signedRequest } from '../load.ts'
import { verifyRows } from '../verify-rows.ts'

const NODES = 4
/**
 * Rates of each node. The first at which four nodes, server and load generator leave a third of two cores idle is used. On a
 * machine that cannot keep a rate, batches would grow with the waiting orders, and background work would weigh more.
 */
const RATES_PER_SECOND = [250, 125, 60]
const CORES_MAX = 1.4
/** A turn below this part of its rate does not count, and is repeated. */
const KEPT_MIN = 0.9
const TRIES_MAX = 4
/** How long the use of nodes and server without orders is measured. It is subtracted. */
const IDLE_S = 10
const DEALERS_PER_NODE = 10
const TURN_S = 8
/** Orders that each node places before the first turn. */
const WARM_ORDERS = 2_000
const WARM_CONNECTIONS = 8
/** More connections than are ever busy, so that no order waits for one. */
const CONNECTIONS_PER_NODE = 64

/** How many nodes take orders, and which one takes an order of which dealer. */
interface Layout {
  nodes: number
  nodeOf(dealer: number, order: number): number
}

const LAYOUTS = {
  one: { nodes: 1, nodeOf: () => 0 },
  /** Each dealer has its node, as behind a load balancer that hashes RT-AccessCode. */
  hashed: { nodes: NODES, nodeOf: (dealer) => dealer % NODES },
  /** Each order of a dealer goes to the next node. */
  spread: { nodes: NODES, nodeOf: (dealer, order) => (dealer + order) % NODES },
} satisfies Record<string, Layout>
type LayoutName = keyof typeof LAYOUTS

interface Measured {
  /** Processor time of nodes and server per order, without what they use when idle. */
  cpuUs: number
  /** The part of the rate that was kept. */
  kept: number
  /** Orders in a transaction. */
  batch: number
  /** Cores that nodes, server and load generator kept busy. */
  cores: number
}

export const nodes: Figure = {
  name: 'nodes',
  summary: `processor time of an order with ${NODES} API processes on one database against 1, at up to ${RATES_PER_SECOND[0]} orders/s each`,
  async run(bench) {
    const all: BenchGateway[] = []
    for (let node = 0; node < NODES; node++) all.push(await bench.startApi())
    const dealers = await bench.createTenants(DEALERS_PER_NODE * NODES)
    const measured: Record<LayoutName, Measured[]> = { one: [], hashed: [], spread: [] }
    const names = Object.keys(LAYOUTS) as LayoutName[]
    let acknowledged = 0
    const measure = (name: LayoutName, perSecond: number, idle: IdleUse) => {
      const layout: Layout = LAYOUTS[name]
      acknowledged += perSecond * layout.nodes * TURN_S
      const own = dealers.slice(0, DEALERS_PER_NODE * layout.nodes)
      return placeOrders(bench, all, layout, own, perSecond, idle)
    }
    const measureAtRate = async (name: LayoutName, perSecond: number, idle: IdleUse) => {
      for (let tries = 1; tries <= TRIES_MAX; tries++) {
        const result = await measure(name, perSecond, idle)
        if (result.kept >= KEPT_MIN) return result
        bench.progress(`nodes: ${name}: kept ${result.kept.toFixed(2)} of the rate, so the turn does not count`)
      }
      throw new Error(`the machine did not keep ${perSecond} orders/s a node in ${TRIES_MAX} turns`)
    }
    const findRate = async (idle: IdleUse) => {
      for (const perSecond of RATES_PER_SECOND) {
        const { kept, cores } = await measure('spread', perSecond, idle)
        if (kept >= KEPT_MIN && cores <= CORES_MAX) return perSecond
        bench.progress(`nodes: ${perSecond} orders/s a node: kept ${kept.toFixed(2)}, ${cores.toFixed(2)} cores busy`)
      }
      throw new Error(`the machine keeps none of the rates ${RATES_PER_SECOND.join(', ')}`)
    }
    try {
      for (const [node, { baseUrl }] of all.entries()) {
        const dealer = dealers[node]!
        const requests = Array.from({ length: WARM_ORDERS }, () => signedRequest(dealer, 'esim/order', orderBody()))
        requireSuccess(await sendAll(baseUrl, requests, WARM_CONNECTIONS))
        acknowledged += WARM_ORDERS
      }
      const idle = await measureIdle(bench, all)
      const perSecond = await findRate(idle)
      for (let round = 0; round < bench.rounds; round++) {
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          const result = await measureAtRate(name, perSecond, idle)
          measured[name].push(result)
          const { cpuUs, batch, cores } = result
          bench.progress(
            `nodes: ${name}: ${cpuUs.toFixed(0)} µs, ${batch.toFixed(1)} orders a batch, ${cores.toFixed(2)} cores`,
          )
        }
      }
      const tenantIds = dealers.map(({ tenantId }) => tenantId)
      const notes = [await verifyRows(bench.db, tenantIds, acknowledged), await verifyWholeLedger(bench)]
      return [
        await compareLayout(bench, measured, { name: 'hashed', max: 1.25, perSecond, notes }),
        await compareLayout(bench, measured, { name: 'spread', max: 1.5, perSecond, notes }),
      ]
    } finally {
      await Promise.all(all.map((gateway) => gateway.stop()))
    }
  },
}

const SENT = {
  hashed: 'each dealer’s orders sent to one node',
  spread: 'each dealer’s orders sent to all nodes in turn',
}

function compareLayout(
  bench: Environment,
  measured: Record<LayoutName, Measured[]>,
  { name, max, perSecond, notes }: { name: 'hashed' | 'spread'; max: number; perSecond: number; notes: string[] },
): Promise<Result> {
  const each = (member: 'batch' | 'cores' | 'kept') => {
    const [many, one] = [measured[name], measured.one].map((list) => median(list.map((result) => result[member])))
    return `${formatValue(many!)} against ${formatValue(one!)}`
  }
  return compare({
    name: `nodes: ${NODES}, ${name}`,
    what: `µs of processor time of gateways and server per order, ${NODES} API processes against 1, each at ${perSecond} orders/s of ${DEALERS_PER_NODE} dealers, ${SENT[name]}; without what they use when idle`,
    aim: { max },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: async (round) => measured[name][round]!.cpuUs,
    against: async (round) => measured.one[round]!.cpuUs,
    notes: [
      `orders in a transaction: ${each('batch')}`,
      `cores kept busy, with the load generator: ${each('cores')}; part of the rate that was kept: ${each('kept')}`,
      ...notes,
    ],
  })
}

/** Processor time that each node and the server use without orders, in µs a second. */
interface IdleUse {
  nodeUs: number
  serverUs: number
}

async function measureIdle({ db }: Environment, all: BenchGateway[]): Promise<IdleUse> {
  const [backend] = await db.query<{ pid: number }>({ text: 'select pg_backend_pid() as pid' })
  const server = parentOf(backend!.pid)!
  const use = () => ({
    nodeUs: all.reduce((sum, { pid }) => sum + (cpuTimeUs(pid) ?? Number.NaN), 0),
    serverUs: serverCpuTimeUs(server),
  })
  await delay(IDLE_S * 1000) // the work that follows the warm-up ends
  const before = use()
  await delay(IDLE_S * 1000)
  const after = use()
  return {
    nodeUs: (after.nodeUs - before.nodeUs) / IDLE_S / all.length,
    serverUs: (after.serverUs - before.serverUs) / IDLE_S,
  }
}

async function placeOrders(
  { db }: Environment,
  all: BenchGateway[],
  { nodes: count, nodeOf }: Layout,
  dealers: (Credentials & { tenantId: string })[],
  perSecond: number,
  idle: IdleUse,
): Promise<Measured> {
  const orders = perSecond * count * TURN_S
  const requests: Buffer[][] = Array.from({ length: count }, () => [])
  for (let order = 0; order < orders; order++) {
    const dealer = order % dealers.length
    const node = nodeOf(dealer, Math.floor(order / dealers.length))
    requests[node]!.push(signedRequest(dealers[dealer]!, 'esim/order', orderBody()))
  }
  const among = all.slice(0, count)
  const [backend] = await db.query<{ pid: number; at: Date }>({ text: 'select pg_backend_pid() as pid, now() as at' })
  const server = parentOf(backend!.pid)!
  const cpuUs = () => among.reduce((sum, { pid }) => sum + (cpuTimeUs(pid) ?? Number.NaN), serverCpuTimeUs(server))
  const [before, own, startedAt] = [cpuUs(), process.cpuUsage(), performance.now()]
  const sending = among.map(({ baseUrl }, node) =>
    sendPaced(baseUrl, requests[node]!, { connections: CONNECTIONS_PER_NODE, perSecond }),
  )
  for (const result of await Promise.all(sending)) requireSuccess(result)
  const durationUs = (performance.now() - startedAt) * 1000
  const usedUs = cpuUs() - before
  const idleUs = ((idle.nodeUs * count + idle.serverUs) * durationUs) / 1e6
  const { user, system } = process.cpuUsage(own)
  const [placed] = await db.query<{ transactions: number }>({
    text: `select count(distinct xmin::text)::int as transactions from orders
           where tenant_id = any ($1::uuid[]) and created_at >= $2`,
    values: [dealers.map(({ tenantId }) => tenantId), backend!.at],
  })
  return {
    cpuUs: (usedUs - idleUs) / orders,
    kept: (TURN_S * 1e6) / durationUs,
    batch: orders / placed!.transactions,
    cores: (usedUs + user + system) / durationUs,
  }
}

async function verifyWholeLedger({ db }: Environment): Promise<string> {
  let faults = 0
  await verifyLedger(db, { onFault: () => faults++ })
  if (faults > 0) throw new Error(`the ledger has ${faults} faults`)
  return 'the ledger was verified'
}

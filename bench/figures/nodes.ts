import { verifyLedger } from '../../packages/gateway/src/wallet/verify/verify.ts'
import { compare, formatValue, median, type Result } from '../compare.ts'
import { cpuTimeUs, parentOf, serverCpuTimeUs } from '../cpu.ts'
import type { Environment } from '../environment.ts'
import type { Figure } from '../figure.ts'
import type { BenchGateway } from '../gateway.ts'
import { type Credentials, orderBody, requireSuccess, sendAll, sendPaced, signedRequest } from '../load.ts'
import { verifyRows } from '../verify-rows.ts'

const NODES = 4
/** The rate of each node. Four nodes, server and load generator then leave a third of two cores idle, also on a slow machine. */
const ORDERS_PER_SECOND = 250
const DEALERS_PER_NODE = 10
const TURN_S = 8
/** Placed by each node before the first turn. */
const WARM_ORDERS = 2_000
const WARM_CONNECTIONS = 8
/** More than are ever busy: an order waits for none. */
const CONNECTIONS_PER_NODE = 64

/** How many nodes take orders, and which one takes an order of which dealer. */
interface Layout {
  nodes: number
  nodeOf(dealer: number, order: number): number
}

const LAYOUTS = {
  one: { nodes: 1, nodeOf: () => 0 },
  /** As a load balancer does that hashes RT-AccessCode: each dealer has its node. */
  hashed: { nodes: NODES, nodeOf: (dealer) => dealer % NODES },
  /** Each order of a dealer goes to the next node. */
  spread: { nodes: NODES, nodeOf: (dealer, order) => (dealer + order) % NODES },
} satisfies Record<string, Layout>
type LayoutName = keyof typeof LAYOUTS

interface Measured {
  /** Processor time of nodes and server per order. */
  cpuUs: number
  /** Orders in a transaction. */
  batch: number
  /** Cores that nodes, server and load generator kept busy. */
  cores: number
}

export const nodes: Figure = {
  name: 'nodes',
  summary: `processor time of an order with ${NODES} API processes on one database against 1, at ${ORDERS_PER_SECOND} orders/s each`,
  async run(bench) {
    const all: BenchGateway[] = []
    for (let node = 0; node < NODES; node++) all.push(await bench.startApi())
    const dealers = await bench.createTenants(DEALERS_PER_NODE * NODES)
    const measured: Record<LayoutName, Measured[]> = { one: [], hashed: [], spread: [] }
    const names = Object.keys(LAYOUTS) as LayoutName[]
    let acknowledged = 0
    const measure = (name: LayoutName) => {
      const layout: Layout = LAYOUTS[name]
      const orders = ORDERS_PER_SECOND * layout.nodes * TURN_S
      acknowledged += orders
      return placeOrders(bench, all, layout, dealers.slice(0, DEALERS_PER_NODE * layout.nodes), orders)
    }
    try {
      for (const [node, { baseUrl }] of all.entries()) {
        const dealer = dealers[node]!
        const requests = Array.from({ length: WARM_ORDERS }, () => signedRequest(dealer, 'esim/order', orderBody()))
        requireSuccess(await sendAll(baseUrl, requests, WARM_CONNECTIONS))
        acknowledged += WARM_ORDERS
      }
      for (let round = 0; round < bench.rounds; round++) {
        for (const name of round % 2 === 0 ? names : names.toReversed()) {
          const result = await measure(name)
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
        await compareLayout(bench, measured, 'hashed', 1.25, notes),
        await compareLayout(bench, measured, 'spread', 1.5, notes),
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
  name: 'hashed' | 'spread',
  max: number,
  notes: string[],
): Promise<Result> {
  const each = (member: 'batch' | 'cores') => {
    const [many, one] = [measured[name], measured.one].map((list) => median(list.map((result) => result[member])))
    return `${formatValue(many!)} against ${formatValue(one!)}`
  }
  return compare({
    name: `nodes: ${NODES}, ${name}`,
    what: `µs of processor time of gateways and server per order, ${NODES} API processes against 1, each at ${ORDERS_PER_SECOND} orders/s of ${DEALERS_PER_NODE} dealers, ${SENT[name]}`,
    aim: { max },
    rounds: bench.rounds,
    progress: bench.progress,
    ours: async (round) => measured[name][round]!.cpuUs,
    against: async (round) => measured.one[round]!.cpuUs,
    notes: [
      `orders in a transaction: ${each('batch')}`,
      `cores kept busy, with the load generator: ${each('cores')}`,
      ...notes,
    ],
  })
}

async function placeOrders(
  { db }: Environment,
  all: BenchGateway[],
  { nodes: count, nodeOf }: Layout,
  dealers: (Credentials & { tenantId: string })[],
  orders: number,
): Promise<Measured> {
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
    sendPaced(baseUrl, requests[node]!, { connections: CONNECTIONS_PER_NODE, perSecond: ORDERS_PER_SECOND }),
  )
  for (const result of await Promise.all(sending)) requireSuccess(result)
  const durationUs = (performance.now() - startedAt) * 1000
  const usedUs = cpuUs() - before
  const { user, system } = process.cpuUsage(own)
  const [placed] = await db.query<{ transactions: number }>({
    text: `select count(distinct xmin::text)::int as transactions from orders
           where tenant_id = any ($1::uuid[]) and created_at >= $2`,
    values: [dealers.map(({ tenantId }) => tenantId), backend!.at],
  })
  return {
    cpuUs: usedUs / orders,
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

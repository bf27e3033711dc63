import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import { addressOf, type Cell, type CellNode } from './cells-file.ts'

const TIMEOUT_MS = 5_000
const ANSWER_SIZE_MAX_BYTES = 4 * 2 ** 20

export interface CheckedNode {
  cell: string
  address: string
  /** undefined if the node is ready and belongs to its cell; otherwise the problem and the remedy. */
  fault: string | undefined
}

/** Asks every node whether it is ready and which cell it belongs to. */
export async function checkCells(outbound: Outbound, cells: readonly Cell[]): Promise<CheckedNode[]> {
  return Promise.all(
    cells.flatMap(({ name, nodes }) =>
      nodes.map(async (node) => ({
        cell: name,
        address: addressOf(node),
        fault: await findFault(outbound, name, node),
      })),
    ),
  )
}

async function findFault(outbound: Outbound, cell: string, node: CellNode): Promise<string | undefined> {
  const ready = await get(outbound, node, '/readyz')
  if (ready.failure)
    return `its METRICS_PORT ${node.metricsPort} does not answer (${ready.failure}). Start it, or correct host and metricsPort.`
  if (ready.status !== 200) return `it is not ready: ${ready.body.trim()}`
  const { status, body } = await get(outbound, node, '/metrics')
  if (status === 403) return `its metrics are not served under ${node.host}. Add that to its METRICS_HOSTS.`
  const info = body.split('\n').find((line) => line.startsWith('dealer_esim_info{')) ?? ''
  const actual = /\bcell="([^"]*)"/.exec(info)?.[1]
  if (actual === undefined) return 'its metrics name no cell: is it a gateway of this release?'
  return actual === cell ? undefined : `its CELL_NAME is ${actual}. Set CELL_NAME=${cell}, or list it under ${actual}.`
}

async function get(outbound: Outbound, { host, metricsPort }: CellNode, path: string) {
  const outcome = await outbound.request({
    url: `http://${addressOf({ host, port: metricsPort })}${path}`,
    method: 'GET',
    headers: {},
    timeoutMs: TIMEOUT_MS,
    answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    allowPrivate: true,
  })
  if (outcome.kind === 'failed') return { failure: outcome.message, status: 0, body: '' }
  return { failure: undefined, status: outcome.status, body: outcome.body.toString() }
}

import { type Loop, runLoop } from '@dealer-esim/lib/process/start-stop.ts'
import type { Deps } from '#deps.ts'
import { addressOf, type CellNode } from '../cells-file.ts'
import { type ArrivingMove, listArriving, openTarget } from './move-state.ts'

/** How often the source is queried. Including the answer, this fits into the time that the fence leaves (switch-over.ts). */
const POLL_MS = 500
const TIMEOUT_MS = 2_000
const ANSWER_SIZE_MAX_BYTES = 1_024

type ArrivalDeps = Pick<Deps, 'config' | 'db' | 'log' | 'loops' | 'outbound'>

/**
 * Opens this cell for tenants whose old cell has closed, in case the mover was killed before it could. Only the commit that
 * closes the source decides, so this cell asks one of the source's nodes whether it has closed: the two cells' databases
 * are not connected.
 */
export function arrivalLoop(deps: ArrivalDeps): Loop {
  const { config, db, log } = deps
  /** Moves whose unresponsive source has already been logged. */
  const reported = new Set<string>()
  async function open(move: ArrivingMove & { otherCell: string }): Promise<void> {
    const { tenantId, moveId, otherCell } = move
    const state = await askSource(deps, move)
    if (state === undefined && !reported.has(moveId)) {
      reported.add(moveId)
      log.warn(
        { tenantId, moveId, otherCell },
        'no node of the cell that a dealer is leaving responds. If that cell has already closed, the dealer is refused until it responds or tenant move is run again',
      )
    }
    if (state !== 'SWITCHED') return
    const isOpened = await openTarget({ name: config.cellName, db }, move)
    if (isOpened)
      log.info({ tenantId, moveId, otherCell }, 'the old cell has closed for a dealer: this cell now serves it')
  }

  return runLoop(deps, 'arrivals', POLL_MS, async () => Promise.all((await listArriving(db)).map(open)))
}

/** The state of the move in its source; undefined if none of the source's nodes answers. */
async function askSource(deps: ArrivalDeps, { moveId, otherNodes }: ArrivingMove): Promise<string | undefined> {
  const asked = otherNodes.map((node) => askNode(deps, node, moveId))
  return Promise.any(asked).catch(() => undefined)
}

/** @throws Error if the node does not answer */
async function askNode({ outbound }: ArrivalDeps, { host, metricsPort }: CellNode, moveId: string): Promise<string> {
  const outcome = await outbound.request({
    url: `http://${addressOf({ host, port: metricsPort })}/moves/${moveId}`,
    method: 'GET',
    timeoutMs: TIMEOUT_MS,
    answerSizeMaxBytes: ANSWER_SIZE_MAX_BYTES,
    allowPrivate: true,
  })
  if (outcome.kind === 'failed') throw new Error(outcome.message)
  if (outcome.status !== 200) throw new Error(`status ${outcome.status}`)
  return (JSON.parse(outcome.body.toString()) as { state: string }).state
}

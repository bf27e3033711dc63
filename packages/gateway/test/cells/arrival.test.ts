import type { Running } from '@dealer-esim/lib/process/start-stop.ts'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { arrivalLoop } from '#cells/move/arrival.ts'
import { openTarget } from '#cells/move/move-state.ts'
import { startProbes } from '#http/probes/probes-server.ts'
import { addDealer, call, type Dealer, type Node, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { CLOSED_PORT } from '../platform/deployment/proxies.ts'

/* A cell opens automatically for a dealer whose old cell has closed, and for no other. The mover is never run here. */

const databases: TestDatabase[] = []
let source: Node
let target: Node
let dealer: Dealer
let probes: Running & { port: number }
let loop: Running
/** How often the source was queried. */
let asked = 0

beforeAll(async () => {
  databases.push(await createTestDatabase(), await createTestDatabase())
  source = await startNode(databases[0]!.url, { CELL_NAME: 'main' })
  target = await startNode(databases[1]!.url, { CELL_NAME: 'eu1' })
  dealer = await addDealer(target.deps)
  probes = await startProbes(source.deps, { state: 'serving' })
  await insertMove(target, 'IN', 'main', probes.port)
  const { outbound } = target.deps
  loop = arrivalLoop({
    ...target.deps,
    outbound: {
      ...outbound,
      async request(request) {
        const outcome = await outbound.request(request)
        asked++
        return outcome
      },
    },
  })
})
afterAll(async () => {
  await loop?.stop(5_000)
  await probes?.stop(5_000)
  await source.stop()
  await target.stop()
  for (const database of databases) await database.drop()
})

async function insertMove({ deps }: Node, direction: string, otherCell: string, metricsPort: number) {
  return deps.db.query({
    text: `insert into tenant_moves (tenant_id, move_id, direction, other_cell, other_nodes, state, held_until, fenced_until, actor)
           values ($1, $1, $2, $3, $4, 'VERIFIED', 'infinity', 'infinity', 'cli:tester')`,
    values: [
      dealer.tenantId,
      direction,
      otherCell,
      JSON.stringify([{ host: '127.0.0.1', port: CLOSED_PORT, metricsPort }]), // nobody to forward to
    ],
  })
}

const health = async () => (await call(target, dealer, 'health')).code
async function waitForAnswers(): Promise<void> {
  const before = asked
  await expect.poll(() => asked, { timeout: 60_000 }).toBeGreaterThan(before + 1)
}

it('the target cell opens only once the source cell has closed', async () => {
  await waitForAnswers() // the source does not know such a move
  expect(await health()).toBe('000002')
  await insertMove(source, 'OUT', 'eu1', probes.port)
  for (const state of ['COPYING', 'FENCED', 'VERIFIED']) {
    await source.deps.db.query({ text: 'update tenant_moves set state = $1', values: [state] })
    await waitForAnswers()
    expect(await health(), state).toBe('000002')
  }
  await source.deps.db.query({ text: `update tenant_moves set state = 'SWITCHED'` })
  await expect.poll(health).toBe('000000')
  const rows = await target.deps.db.query({ text: 'select state, held_until::text from tenant_moves' })
  expect(rows).toEqual([{ state: 'SWITCHED', heldUntil: '-infinity' }])
})

it('a target cell opens only once, so a late answer does not undo a move', async () => {
  const move = { tenantId: dealer.tenantId, moveId: dealer.tenantId }
  await target.deps.db.query({ text: `update tenant_moves set state = 'DONE'` })
  expect(await openTarget({ name: 'eu1', db: target.deps.db }, move)).toBe(false)
  expect(await target.deps.db.query({ text: 'select state from tenant_moves' })).toEqual([{ state: 'DONE' }])
})

import { createDb, type Database } from '@dealer-esim/lib/postgres/db.ts'
import { RELEASE } from '@dealer-esim/lib/process/release.ts'
import { afterAll, beforeAll, beforeEach, expect, it } from 'vitest'
import type { Move } from '#cells/move/cell-session.ts'
import { findMove, insertMove } from '#cells/move/move-state.ts'
import { type MoveDeps, moveTenant } from '#cells/move/move-tenant.ts'
import { addDealer, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'

/* The target of a move is upgraded while the move is running, or while it is interrupted. */

let databases: TestDatabase[]
let node: Node
let targetDb: Database
let move: Move
const steps: string[] = []

beforeAll(async () => {
  databases = await Promise.all([createTestDatabase(), createTestDatabase()])
  const [main, eu1] = databases
  node = await startNode(main!.url)
  targetDb = createDb({ url: eu1!.url, poolSize: 4, applicationName: 'test eu1' })
})
afterAll(async () => {
  await node.stop()
  await targetDb.close()
  for (const database of databases) await database.drop()
})

beforeEach(async () => {
  const { tenantId } = await addDealer(node.deps)
  const source = { name: 'main', db: node.deps.db, nodes: [] }
  move = { moveId: node.deps.ids.uuid(), tenantId, source, target: { name: 'eu1', db: targetDb, nodes: [] } }
  await node.deps.db.tx(async (tx) => insertMove(tx, move, 'OUT', OPERATOR.actor))
  await downgradeTarget()
  steps.length = 0
})

/** Runs the mover. */
function run(progress: MoveDeps['progress'] = () => {}) {
  const { ids, cipher } = node.deps
  return moveTenant(
    {
      ids,
      cipher,
      by: OPERATOR,
      progress(line) {
        steps.push(line)
        progress(line)
      },
      async route() {
        steps.push('routed')
      },
    },
    move,
  )
}

/** To the next release, whose schema this release can run on. */
async function upgradeTarget(): Promise<void> {
  await targetDb.query({ text: `insert into schema_migrations values (9999, '9999_next_release.sql', 'next')` })
  await targetDb.query({ text: `insert into schema_releases values ($1, 'next')`, values: [RELEASE + 1] })
}

async function downgradeTarget(): Promise<void> {
  await targetDb.query({ text: 'delete from schema_migrations where version = 9999' })
  await targetDb.query({ text: 'delete from schema_releases where release > $1', values: [RELEASE] })
}

const statesOfMove = () =>
  Promise.all([move.source, move.target].map(async ({ db }) => (await findMove(db, move.tenantId))?.state))

const OF_TARGET = /^Cell eu1: This database is newer than this release: it has 9999_next_release\.sql/

it('a resumed move copies nothing into a target that runs another release', async () => {
  const killed = run(() => {
    throw new Error('killed')
  })
  await expect(killed).rejects.toThrow('killed')
  steps.length = 0
  await upgradeTarget()
  await expect(run()).rejects.toThrow(OF_TARGET)
  expect(steps).toEqual([])
  expect(await statesOfMove()).toEqual(['COPYING', 'COPYING'])
})

it('the source continues to serve the dealer if the target was upgraded while rows were copied', async () => {
  const upgrades: Promise<void>[] = []
  const moving = run(() => {
    if (upgrades.length === 0) upgrades.push(upgradeTarget())
  })
  await expect(moving).rejects.toThrow(OF_TARGET)
  expect(steps).not.toContain('routed')
  expect(await statesOfMove()).toEqual(['COPYING', 'COPYING'])
})

it('the target serves the dealer if it was upgraded after the source closed, and the move stays open', async () => {
  const isOpen = 'cell eu1 serves the dealer'
  const interrupted = run((line) => {
    if (line === isOpen) throw new Error('killed')
  })
  await expect(interrupted).rejects.toThrow('killed')
  await upgradeTarget()
  steps.length = 0
  await expect(run()).rejects.toThrow(OF_TARGET)
  expect(steps).toEqual([isOpen, 'routed'])
  expect(await statesOfMove()).toEqual(['SWITCHED', 'SWITCHED'])
  await downgradeTarget()
  await run()
  expect(await statesOfMove()).toEqual(['DONE', 'DONE'])
})

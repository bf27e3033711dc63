import { type ChildProcess, spawn } from 'node:child_process'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '../../../src/lib/process/package-root.ts'
import { createTestDatabase, type TestDatabase } from '../../harness/databases/database.ts'
import { bundleForChildren, type ChildBundle } from '../../harness/processes/child-process.ts'

const NODES = 4
const MEASURED_MS = 60_000
const PER_SECOND = 8

let database: TestDatabase
let simulator: Simulator
let bundle: ChildBundle
const nodes: ChildProcess[] = []

beforeAll(async () => {
  bundle = await bundleForChildren(new URL('./rate-node.ts', import.meta.url))
  database = await createTestDatabase()
  simulator = await createSimulator('esim-access', { catalogueSize: 3 })
})
afterAll(async () => {
  for (const node of nodes) node.kill('SIGKILL')
  await simulator.close()
  await database.drop()
  bundle.remove()
})

/** Requests that arrive at the simulator from all nodes together, in order. */
async function arrivals(forMs: number, config: object = {}): Promise<number[]> {
  const { accessCode, secretKey } = simulator.credentials
  const text = JSON.stringify({ url: simulator.url, accessCode, secretKey, ...config })
  const started = Array.from({ length: NODES }, () =>
    spawn(process.execPath, [bundle.path, database.url, text], { cwd: packageRoot(), stdio: 'inherit' }),
  )
  nodes.push(...started)
  while (simulator.requests().length < 2 * PER_SECOND) await new Promise((resolve) => setTimeout(resolve, 100))
  simulator.resetRecords()
  await new Promise((resolve) => setTimeout(resolve, forMs))
  for (const node of started) node.kill('SIGKILL')
  return simulator.requests().map(({ atMs }) => atMs)
}

it('four nodes share the account’s limit: no second has more than 8 requests, and at least 7 a second are used', async () => {
  const times = await arrivals(MEASURED_MS)
  expect(simulator.counters().requestsInBusiestSecond).toBeLessThanOrEqual(PER_SECOND)
  expect(times.length / (MEASURED_MS / 1000)).toBeGreaterThanOrEqual(7)
}, 120_000)

it('a gateway with a share of the account uses no more than that', async () => {
  simulator.resetRecords()
  const times = await arrivals(10_000, { share: 0.5 })
  expect(simulator.counters().requestsInBusiestSecond).toBeLessThanOrEqual(PER_SECOND / 2)
  expect(times.length / 10).toBeGreaterThanOrEqual(3.5)
}, 60_000)

import { type ChildProcess, spawn } from 'node:child_process'
import { createSimulator, type Simulator } from '@dealer-esim/wholesaler-simulators'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { bundleForChildren, type ChildBundle } from '../harness/processes/child-process.ts'

const NODES = 4
/** ACCOUNT_RATE_SECONDS: how long the nodes are measured. Longer than the ten seconds in which they must use their limit. */
const MEASURED_MS = Number(process.env.ACCOUNT_RATE_SECONDS ?? 20) * 1_000
const PER_SECOND = 8
/** A machine that is busy with other things disturbs a measurement, so only five bad ones in a row count. */
const ROUNDS = 5

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

/**
 * The times at which all nodes send requests, in order, until these use the limit. Arrival times would depend on when this
 * process, which is also the wholesaler, could read them.
 */
async function sendingTimes(
  forMs: number,
  usesLimit: (times: readonly number[]) => boolean,
  config: object = {},
): Promise<number[]> {
  const { accessCode, secretKey } = simulator.credentials
  const text = JSON.stringify({ url: simulator.url, accessCode, secretKey, ...config })
  const times: number[] = []
  const started = Array.from({ length: NODES }, () =>
    spawn(process.execPath, [bundle.path, database.url, text], {
      ...{ cwd: packageRoot(), stdio: ['inherit', 'inherit', 'inherit', 'ipc'] },
    }).on('message', (time) => times.push(time as number)),
  )
  nodes.push(...started)
  while (times.length < 2 * PER_SECOND) await new Promise((resolve) => setTimeout(resolve, 100))
  times.length = 0
  for (let round = 0; round < ROUNDS && !usesLimit(times); round++) {
    await new Promise((resolve) => setTimeout(resolve, forMs))
    times.sort((left, right) => left - right)
  }
  for (const node of started) node.kill('SIGKILL')
  return times
}

/** The maximum number of requests within any time span of this length. */
function mostWithin(times: readonly number[], ms: number): number {
  return Math.max(
    0,
    ...times.map((from, first) => times.filter((time, index) => index >= first && time < from + ms).length),
  )
}

// On a busy machine nodes miss moments, so its best seconds show what the limit allows.
it(
  'four nodes share the account’s limit, and together send 7 to 8 requests a second',
  async () => {
    const usesLimit = (times: readonly number[]) => mostWithin(times, 10_000) / 10 >= 7
    const times = await sendingTimes(MEASURED_MS, usesLimit)
    expect(mostWithin(times, 1_000)).toBeLessThanOrEqual(PER_SECOND)
    expect(usesLimit(times)).toBe(true)
  },
  120_000 + ROUNDS * MEASURED_MS,
)

it('a gateway with a share of the account does not use more than that share', async () => {
  const usesShare = (times: readonly number[]) => mostWithin(times, 5_000) / 5 >= 3.4
  const times = await sendingTimes(10_000, usesShare, { share: 0.5 })
  expect(mostWithin(times, 1_000)).toBeLessThanOrEqual(PER_SECOND / 2)
  expect(usesShare(times)).toBe(true)
}, 180_000)

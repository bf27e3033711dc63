import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, beforeEach, expect, test, vi } from 'vitest'
import { replayLoop } from '#webhooks/replay/replay-step.ts'
import { admin, adminJson } from '../harness/processes/admin-in-process.ts'
import { type Receiver, startReceiver } from './receiver.ts'
import { createTestbed, MASTER_KEY, type Testbed, type TestTenant } from './webhook-testbed.ts'

// The operator's commands for a dealer whose receiver was down, from diagnosis to replay.

let testbed: Testbed
let receiver: Receiver
let tenant: TestTenant
const folder = mkdtempSync(join(tmpdir(), 'dealer-esim-operator-'))
beforeAll(async () => {
  testbed = await createTestbed()
  receiver = await startReceiver()
  vi.stubEnv('DATABASE_URL', testbed.url)
  vi.stubEnv('MASTER_KEY', MASTER_KEY.toString('base64'))
  vi.stubEnv('DATA_DIR', folder)
})
beforeEach(async () => {
  tenant = await testbed.tenant({ callbackUrl: receiver.url })
  receiver.received = []
})
afterAll(async () => {
  vi.unstubAllEnvs()
  await receiver.close()
  await testbed.close()
  rmSync(folder, { recursive: true, force: true })
})

const run = (...args: string[]) => admin('webhook', ...args)
const json = (...args: string[]) => adminJson('webhook', ...args)

const inState = (state: string) =>
  vi.waitFor(async () => {
    const states = await testbed.states(tenant)
    expect(states.map((event) => event.deliveryState)).toEqual(states.map(() => state))
  }, 60_000)

test('an operator finds a disabled endpoint, enables it and replays the missed events', async () => {
  const { tenantId } = tenant
  expect(await json('disable', tenantId)).toMatchObject({ enabled: false })
  const [first, second] = await testbed.record(tenant, 2)
  expect(await json('list')).toContainEqual(
    expect.objectContaining({ tenantId, callbackUrl: receiver.url, enabled: false, waiting: 0 }),
  )
  expect(await json('list', tenantId, '--outcome', 'UNSENT')).toMatchObject([{ notifyId: second }, { notifyId: first }])
  expect(await json('list', tenantId, '--outcome', 'DEAD')).toEqual([])

  const early = await run('resend', tenantId, first!)
  expect(early).toMatchObject({ code: 1, stdout: '' })
  expect(early.stderr).toContain('The callback URL is disabled.')
  expect(await json('enable', tenantId)).toMatchObject({ enabled: true })
  expect(receiver.received).toMatchObject([{ notifyType: 'CHECK_HEALTH' }])

  testbed.startLoop()
  expect(await json('resend', tenantId, first!)).toMatchObject({ notifyId: first })
  await vi.waitFor(() => expect(receiver.events).toMatchObject([{ notifyId: first }]), 60_000)
  const replay = ['replay', tenantId, '--from', '2026-01-01', '--outcome', 'UNSENT', '--rate', '100']
  const { replayId } = await json(...replay)
  const replaying = replayLoop(testbed.deps)
  await inState('DELIVERED')
  expect(receiver.events).toMatchObject([{ notifyId: first }, { notifyId: second }])
  const { attemptList } = await json('show', tenantId, second!)
  expect(attemptList).toMatchObject([{ outcome: 'acknowledged', httpStatus: 200, address: '127.0.0.1' }])
  await vi.waitFor(async () => {
    const done = { replayId, replayState: 'DONE', matched: 1, replayed: 1, ratePerS: 100 }
    expect(await json('replays', tenantId)).toMatchObject([done])
  }, 60_000)
  await replaying.stop(1_000)
})

test('an invalid webhook command is refused with a message', async () => {
  const { tenantId } = tenant
  for (const [args, words] of [
    [['replay', tenantId], /--from 2026-/],
    [['replay', tenantId, '--from', 'yesterday'], /--from takes a time like/],
    [['list', tenantId, '--outcome', 'LOST'], /--outcome/],
    [
      ['replay', tenantId, '--from', '2026-11-20', '--outcome', 'PENDING'],
      /--outcome takes DELIVERED, DEAD, UNSENT, not/,
    ],
    [['show', tenantId, tenantId], /no such event/],
  ] as const) {
    const { code, stdout, stderr } = await run(...args)
    expect({ code, stdout }).toEqual({ code: expect.any(Number), stdout: '' })
    expect(code).not.toBe(0)
    expect(stderr).toMatch(words)
  }
})

test('the replay help lists the outcomes and their default', async () => {
  const { stdout } = await run('replay', '--help')
  expect(stdout.replace(/\s+/g, ' ')).toContain(
    '--outcome <states> DELIVERED, DEAD, UNSENT, separated by commas (default: "DEAD,UNSENT")',
  )
  expect(stdout).not.toContain('PENDING')
  expect((await run('list', '--help')).stdout).toContain('PENDING, DELIVERED, DEAD, UNSENT')
})

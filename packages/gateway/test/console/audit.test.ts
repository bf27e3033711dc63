import { afterAll, beforeAll, expect, it } from 'vitest'
import { AUDIT_ACTIONS } from '../../src/audit/actions.ts'
import { auditAll } from '../../src/audit/audit.ts'
import { type ConsoleApp, signedInAs, startConsole } from './console-app.ts'

let room: ConsoleApp
beforeAll(async () => {
  room = await startConsole()
})
afterAll(() => room.stop())

it('finds by every action that the log tells of', async () => {
  const subject = 'one of each'
  const entries = AUDIT_ACTIONS.map((action) => ({ tenantId: null, actor: 'cli:root', action, subject }) as const)
  await room.db.tx(async (tx) => auditAll(tx, room.deps.ids, entries))
  const operator = await signedInAs(room, 'OPERATOR_READ_ONLY')
  for (const action of AUDIT_ACTIONS) {
    const { status, body } = await operator.call('GET', `/audit?action=${action}&subject=one%20of%20each`)
    const found = body.entries?.map((entry: { action: string }) => entry.action)
    expect([action, status, found]).toEqual([action, 200, [action]])
  }
})

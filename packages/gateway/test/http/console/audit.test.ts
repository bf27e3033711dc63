import { afterAll, beforeAll, expect, it } from 'vitest'
import { auditAll } from '#platform/audit/audit.ts'
import { AUDIT_ACTIONS } from '#platform/audit/audited-actions.ts'
import { type ConsoleTestbed, signedInAs, startConsole } from './console-testbed.ts'

let testbed: ConsoleTestbed
beforeAll(async () => {
  testbed = await startConsole()
})
afterAll(() => testbed.stop())

it('the audit log can be filtered by every action', async () => {
  const subject = 'one of each'
  const entries = AUDIT_ACTIONS.map((action) => ({ tenantId: null, actor: 'cli:root', action, subject }) as const)
  await testbed.db.tx(async (tx) => auditAll(tx, testbed.deps.ids, entries))
  const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  for (const action of AUDIT_ACTIONS) {
    const { status, body } = await operator.call('GET', `/audit?action=${action}&subject=one%20of%20each`)
    const found = body.entries?.map((entry: { action: string }) => entry.action)
    expect([action, status, found]).toEqual([action, 200, [action]])
  }
})

it('the export contains all 100 001 entries', async () => {
  const entries = 100_001
  await testbed.db.query({
    text: `insert into audit_log (audit_id, tenant_id, actor, action, subject)
           select gen_random_uuid(), '00000000-0000-0000-0000-000000000000', 'cli:root', 'tenant.create', 'one of many'
           from generate_series(1, $1::int)`,
    values: [entries],
  })
  const operator = await signedInAs(testbed, 'OPERATOR_READ_ONLY')
  const { body } = await operator.call('GET', '/audit.csv?subject=one%20of%20many')
  expect(body.trimEnd().split('\n').length).toBe(1 + entries)
})

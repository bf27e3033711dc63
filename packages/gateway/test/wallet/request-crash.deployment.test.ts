import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAccessToken } from '#people/account/access-token.ts'
import { createPerson } from '#people/manage-people.ts'
import { requestTopUp } from '#wallet/requests/create-request.ts'
import { listTopUpRequests } from '#wallet/requests/top-up-request.ts'
import { verifyLedger } from '#wallet/verify/verify-ledger.ts'
import { addDealer, NODE_ENV, type Node, OPERATOR, startNode } from '../harness/api-node.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { startGateway, stopGateways } from '../harness/processes/gateway-process.ts'

/* A gateway is killed while an operator confirms a payment, and the operator confirms it again on another gateway. */

let database: TestDatabase
let inspector: Node
beforeAll(async () => {
  database = await createTestDatabase()
  inspector = await startNode(database.url)
})
afterAll(async () => {
  await inspector.stop()
  await stopGateways()
  await database.drop()
})

/** A new operator's token. */
async function operatorToken(name: string): Promise<string> {
  const { db, ids } = inspector.deps
  return db.tx(async (tx) => {
    const person = { email: `${name}@operator.test`, name, role: 'OPERATOR_STAFF' as const, tenantId: null }
    const { personId } = await createPerson(tx, ids, { ...person, oneTimePassword: 'correct horse' }, OPERATOR)
    tx.send({ text: 'update people set password_change_required = false where person_id = $1', values: [personId] })
    return (await createAccessToken(tx, ids, personId, { name, scope: 'WRITE', days: 1 })).token
  })
}

describe('a crash while a payment is confirmed', () => {
  it.each([
    { point: 'top-up-request.posted', isPosted: false },
    { point: 'top-up-request.committed', isPosted: true },
  ])(
    'at $point leaves the whole decision posted or none of it, and a repeated confirmation posts it once',
    async ({ point, isPosted }) => {
      const { deps } = inspector
      const { tenantId } = await addDealer(deps, 0)
      const asked = { tenantId, amount: 500_000n, reference: 'INV-1' }
      const { requestId } = await requestTopUp(deps, asked, { actor: 'person:dealer' })
      const options = { databaseUrl: database.url, role: 'api' } as const
      const env = { MASTER_KEY: NODE_ENV.MASTER_KEY }
      const token = await operatorToken(point.replace('.', '-'))
      const confirm = (baseUrl: string) =>
        fetch(`${baseUrl}/console/api/tenants/${tenantId}/top-up-requests/${requestId}/confirm`, {
          method: 'POST',
          headers: { authorization: `Bearer ${token}` },
        })
      const doomed = await startGateway({ ...options, env: { ...env, PAUSE_AT: point } })
      await expect(confirm(doomed.baseUrl)).rejects.toThrow()
      expect(await doomed.exited).toMatchObject({ signal: 'SIGKILL' })
      const [request] = await listTopUpRequests(deps.db, { tenantId, limit: 1 })
      expect(request).toMatchObject({ status: isPosted ? 'PAID' : 'REQUESTED' })

      const next = await startGateway({ ...options, env })
      const answer = await confirm(next.baseUrl)
      expect([answer.status, await answer.json()]).toEqual([200, { status: 'PAID', isWaitingForSecond: false }])
      const faults: string[] = []
      const { transfers } = await verifyLedger(deps.db, { tenantId, onFault: (fault) => faults.push(fault.message) })
      expect({ faults, transfers }).toEqual({ faults: [], transfers: 1n })
      const alerts = await deps.db.query({
        text: `select from alerts where tenant_id = $1 and kind = 'TOP_UP_PAID'`,
        values: [tenantId],
      })
      expect(alerts).toHaveLength(1)
      await next.kill('SIGKILL')
    },
  )
})

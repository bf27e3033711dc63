import Fastify, { type FastifyInstance } from 'fastify'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { addConsoleApi } from '#http/console/console-server.ts'
import { createBodyBudget } from '#http/load-shedding/byte-budget.ts'
import { createTopUpTestbed, type Esim, PRICE, type TopUpTestbed } from '#test/orders/topups/topup-testbed.ts'
import { type ConsoleTestbed, ORIGIN, signedInAs } from './console-testbed.ts'

/* Top-ups and cancels by a dealer's own people, on a node that fulfils orders. */

/** A package in the testbed that fits its eSIMs. */
const CODE = 'JP_1_7_TOPUP'

let bed: TopUpTestbed
let app: FastifyInstance
let esim: Esim
beforeAll(async () => {
  bed = await createTopUpTestbed()
  app = Fastify()
  const deps = { ...bed.node.deps, consoleUrl: () => `${ORIGIN}/console`, provider: undefined }
  addConsoleApi(app, deps, {
    origins: [ORIGIN],
    loopback: false,
    addressOf: (request) => request.ip,
    bodies: createBodyBudget(64 * 1024 * 1024),
    bodyRefusals: { pace: (write) => write() },
    cookieName: '__Host-console',
  })
  await app.ready()
  esim = await bed.delivered()
})
afterAll(async () => {
  await app.close()
  expect(await bed.faults()).toEqual([])
  await bed.close()
})

const signIn = (role: 'DEALER_STAFF' | 'DEALER_ADMIN', tenantId = esim.dealer.tenantId) =>
  signedInAs({ app, ...bed.node, db: bed.node.deps.db } as unknown as ConsoleTestbed, role, tenantId)

async function auditOf(action: string): Promise<{ actor: string; subject: string }[]> {
  return bed.node.deps.db.query({
    text: 'select actor, subject from audit_log where tenant_id = $1 and action = $2',
    values: [esim.dealer.tenantId, action],
  })
}

it('a top-up chosen from the fitting packages is debited once, delivered and audited', async () => {
  const person = await signIn('DEALER_STAFF')
  const path = `/tenants/${esim.dealer.tenantId}/profiles/${esim.esimTranNo}`
  const { body } = await person.call('GET', `${path}/top-up-packages`)
  const offer = body.packages.find(({ packageCode }: { packageCode: string }) => packageCode === CODE)
  expect(offer).toMatchObject({ price: PRICE, currencyCode: 'USD' })
  const request = { packageCode: offer.packageCode, transactionId: 'console-1', amount: offer.price }
  const first = await person.call('POST', `${path}/top-ups`, request)
  const second = await person.call('POST', `${path}/top-ups`, request)
  expect([first.status, second.status]).toEqual([200, 200])
  expect(second.body.orderNo).toBe(first.body.orderNo)
  expect(await bed.order(esim.dealer, 'console-1', 'DELIVERED')).toMatchObject({ orderType: 'TOPUP', amount: PRICE })
  const debits = await bed.node.deps.db.query({
    text: `select from transfers where tenant_id = $1 and kind = 'ESIM_TOPUP'`,
    values: [esim.dealer.tenantId],
  })
  expect(debits).toHaveLength(1)
  const entries = await auditOf('order.top_up_esim')
  expect(entries.map(({ actor }) => actor)).toEqual(entries.map(() => `person:${person.personId}`))
  expect(entries[0]!.subject).toBe(first.body.orderNo)
})

it('a top-up whose price has changed is refused without a debit', async () => {
  const person = await signIn('DEALER_ADMIN')
  const path = `/tenants/${esim.dealer.tenantId}/profiles/${esim.esimTranNo}`
  const request = { packageCode: CODE, transactionId: 'console-2', amount: PRICE - 1 }
  const refused = await person.call('POST', `${path}/top-ups`, request)
  expect(JSON.stringify(refused.body)).toContain('200006')
  const orders = await bed.node.deps.db.query({
    text: `select from orders where tenant_id = $1 and transaction_id = 'console-2'`,
    values: [esim.dealer.tenantId],
  })
  expect(orders).toEqual([])
})

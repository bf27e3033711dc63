import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '#http/console/console-routes.ts'
import type { Route } from '#http/console/kernel/route.ts'
import type { Role } from '#people/person.ts'
import { issueDueStatements } from '#wallet/statement/issue-loop.ts'
import { setOperatorDetails } from '#wallet/statement/operator-details.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '../console-testbed.ts'

type SignedInPerson = Awaited<ReturnType<typeof signedInAs>>

let testbed: ConsoleTestbed
let viewed: string
let other: string
let dealer: SignedInPerson
beforeAll(async () => {
  testbed = await startConsole()
  viewed = await addTenant(testbed, 'Viewed Ltd')
  other = await addTenant(testbed, 'Other Ltd')
  dealer = await signedInAs(testbed, 'DEALER_ADMIN', viewed)
})
afterAll(() => testbed.stop())

/** One of the operator's people, viewing the console as the dealer. */
async function viewer(role: Role = 'OPERATOR_ADMIN'): Promise<SignedInPerson> {
  const operator = await signedInAs(testbed, role)
  expect(await operator.call('POST', `/tenants/${viewed}/view`)).toMatchObject({ status: 200 })
  return operator
}

const guarded = routes.filter((route) => route.access !== 'anyone')

function pathOf(route: Route, tenantId: string): string {
  return route.path
    .replace(':tenantId', tenantId)
    .replace(':orderNo', '01M7YV3W62EGY972X1QAAAKC13')
    .replace(':supplier', 'nobody')
    .replace(/:\w+/, '00000000-0000-7000-8000-000000000001')
}

const entries = () =>
  testbed.db.query<{ action: string; tenantId: string }>(sql`
    select action, tenant_id from audit_log where action <> 'person.sign_in' order by audit_id`)

/** Routes whose answers are about the reader rather than the dealer. */
const ABOUT_THE_READER = ['/session', '/me', '/account', '/my-address', '/notices', '/clock']

describe('an operator who views the console as a dealer', () => {
  it('reads exactly what the dealer’s administrator can read on every route, and no operator data', async () => {
    const operator = await viewer()
    const before = await entries()
    for (const route of guarded.filter(({ method }) => method === 'GET')) {
      const path = pathOf(route, viewed)
      const [own, seen] = [await dealer.call('GET', path), await operator.call('GET', path)]
      expect([route.path, seen.status]).toEqual([route.path, own.status])
      if (!ABOUT_THE_READER.some((prefix) => route.path.startsWith(prefix)))
        expect([route.path, withoutTimes(seen.body)]).toEqual([route.path, withoutTimes(own.body)])
      if (route.path.includes(':tenantId')) {
        const foreign = await operator.call('GET', pathOf(route, other))
        expect([route.path, [403, 404].includes(foreign.status)]).toEqual([route.path, true])
      }
    }
    expect(await entries()).toEqual(before)
  })

  it('is refused every change except a checkpoint, with an error that says how to leave the view', async () => {
    const operator = await viewer()
    const before = await entries()
    const allowed = ['DELETE /session', 'DELETE /session/view', 'POST /tenants/:tenantId/books/checkpoints']
    const changes = guarded.filter(({ method, path }) => method !== 'GET' && !allowed.includes(`${method} ${path}`))
    expect(changes.length).toBeGreaterThan(80)
    expect((await operator.call('POST', `/tenants/${viewed}/books/checkpoints`)).status).toBe(200)
    for (const route of changes) {
      const refused = await operator.call(route.method, pathOf(route, viewed), route.bodyType ? undefined : {})
      expect([route.method, route.path, refused.status, refused.body.code]).toEqual([
        ...[route.method, route.path, 403, 'VIEW_ONLY'],
      ])
      expect(refused.body.message).toContain('End the view first')
    }
    expect(await entries()).toEqual(before)
  })

  it.each(['OPERATOR_ADMIN', 'OPERATOR_STAFF', 'OPERATOR_READ_ONLY'] as const)(
    'ends the view with one call, and is %s again',
    async (role) => {
      const operator = await viewer(role)
      const me = (await operator.call('GET', '/session')).body
      expect(me).toMatchObject({ viewOnly: true, role: 'DEALER_ADMIN', tenant: { clientName: 'Viewed Ltd' } })
      expect((await operator.call('GET', '/suppliers')).status).toBe(403)
      expect(await operator.call('DELETE', '/session/view')).toMatchObject({ status: 200 })
      expect((await operator.call('GET', '/session')).body).toMatchObject({ viewOnly: false, role, tenant: null })
      expect((await operator.call('GET', '/suppliers')).status).toBe(200)
    },
  )

  it('is recorded in an audit log visible to the dealer, with the start and end of the view', async () => {
    const operator = await viewer()
    await operator.call('DELETE', '/session/view')
    await operator.call('DELETE', '/session/view')
    const leaver = await viewer()
    await leaver.call('DELETE', '/session')
    const { body } = await dealer.call('GET', '/audit')
    const shown = body.entries
      .slice(0, 4)
      .map(({ action, actor }: { action: string; actor: string }) => [action, actor])
    expect(shown).toEqual(
      ['person.end_view', 'person.view_as_dealer', 'person.end_view', 'person.view_as_dealer'].map((action) => [
        action,
        'Operator',
      ]),
    )
    const [signOut] = (await entries()).filter(({ action }) => action === 'person.sign_out')
    expect(signOut!.tenantId).not.toBe(viewed)
  })

  it('can read an issued statement, but does not cause one to be issued', async () => {
    const month = new Date(Date.now() - 40 * 86_400_000).toISOString().slice(0, 7)
    await testbed.db.query(sql`update tenants set created_at = ${`${month}-01`}::date where tenant_id = ${viewed}`)
    await testbed.db.query(sql`update wallets set updated_at = created_at from tenants t
      where t.tenant_id = wallets.tenant_id and wallets.tenant_id = ${viewed}`)
    await setOperatorDetails(
      testbed.deps,
      { legalName: 'Operator Ltd', taxId: null, address: null },
      { actor: 'system' },
    )
    const path = `/tenants/${viewed}/wallet/statement?month=${month}`
    const operator = await viewer()
    for (const reader of [operator, dealer]) {
      const refused = await reader.call('GET', path)
      expect(refused).toMatchObject({ status: 409, body: { code: 'STATEMENT_NOT_ISSUED' } })
      expect(refused.body.message).toContain('is being issued')
    }
    expect(await testbed.db.query(sql`select from issued_statements where tenant_id = ${viewed}`)).toEqual([])
    await issueDueStatements({ ...testbed.deps, checkpointWaitMs: 0 })
    const { body } = await dealer.call('GET', path)
    expect(await operator.call('GET', path)).toMatchObject({ status: 200, body })
  })

  it('needs an operator session and an existing dealer', async () => {
    expect((await dealer.call('POST', `/tenants/${viewed}/view`)).status).toBe(403)
    const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
    const unknown = '00000000-0000-7000-8000-000000000001'
    expect((await operator.call('POST', `/tenants/${unknown}/view`)).status).toBe(404)
    expect((await operator.call('GET', '/session')).body).toMatchObject({ viewOnly: false })
  })
})

/** Removes the times at which an answer was produced, which differ between two calls. */
function withoutTimes(body: unknown): string {
  return JSON.stringify(body).replaceAll(/"\d{4}-\d\d-\d\dT[^"]*"/g, '"time"')
}

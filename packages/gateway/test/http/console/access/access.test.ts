import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '#http/console/console-routes.ts'
import type { Route } from '#http/console/kernel/route.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { ROLES, type Role } from '#people/person.ts'
import { createSession } from '#people/session.ts'
import { isSignedInOperator } from '#people/signed-in-operator.ts'
import { addPerson, addTenant, type ConsoleTestbed, ORIGIN, startConsole } from '../console-testbed.ts'

let testbed: ConsoleTestbed
let own: string
let foreign: string
const people = {} as Record<Role, string>
const sessions = {} as Record<Role, string>
/** The people whose sessions are used for routes that end all of a person's sessions, or change what the person may do. */
const deleters = {} as Record<Role, string>

beforeAll(async () => {
  testbed = await startConsole()
  own = await addTenant(testbed, 'Own')
  foreign = await addTenant(testbed, 'Foreign')
  for (const role of ROLES) {
    const tenantId = role.startsWith('DEALER') ? own : null
    people[role] = (await addPerson(testbed, role, tenantId)).personId
    deleters[role] = (await addPerson(testbed, role, tenantId)).personId
    sessions[role] = await newSession(people[role])
  }
})
afterAll(() => testbed.stop())

describe('route access', () => {
  it('every route admits the roles listed in access.txt, and no others', async () => {
    const lines = await mapConcurrently(routes, async (route) => {
      const results = await Promise.all(
        [undefined, ...ROLES].map(async (role) =>
          isAllowed(await callAs(route, role, own)) ? [role ?? 'ANYONE'] : [],
        ),
      )
      const allowed = results.flat()
      return `${route.method} ${route.path}: ${allowed.length === 6 ? 'everybody' : allowed.join(' ')}`
    })
    // Stored in a file, so that reviewers see when access changes.
    await expect(`${lines.join('\n')}\n`).toMatchFileSnapshot('access.txt')
  })

  it('a dealer gets the same answer for another tenant’s routes as for a nonexistent tenant', async () => {
    const nowhere = testbed.deps.ids.uuid()
    const tenantRoutes = routes.filter((one) => one.path.includes(':tenantId'))
    await mapConcurrently(tenantRoutes, async (route) => {
      for (const role of ['DEALER_ADMIN', 'DEALER_STAFF'] as const) {
        const absent = await callAs(route, role, nowhere)
        const other = await callAs(route, role, foreign)
        expect([route.path, role, other.status, other.body]).toEqual([route.path, role, absent.status, absent.body])
        if (isAllowed(await callAs(route, role, own))) expect([route.path, other.status]).toEqual([route.path, 404])
      }
    })
  })

  it('no list shows a dealer another tenant’s rows', async () => {
    for (const route of routes.filter((one) => one.method === 'GET' && !one.path.includes(':'))) {
      const answer = await callAs(route, 'DEALER_ADMIN', own, `?tenantId=${foreign}`)
      expect([route.path, JSON.stringify(answer.body).includes(foreign)]).toEqual([route.path, false])
      expect([route.path, JSON.stringify(answer.body).includes('Foreign')]).toEqual([route.path, false])
    }
  })

  it('the operator’s part of the documentation, where dealers may not read it, is open to a session of the operator alone', async () => {
    const deps = { db: testbed.db, config: { deployment: 'production', port: 443, consolePort: undefined } as const }
    for (const role of ROLES) {
      const cookies = `docs-language=en; __Host-console=${await newSession(people[role])}`
      expect([role, await isSignedInOperator(deps, cookies)]).toEqual([role, role.startsWith('OPERATOR')])
    }
    for (const cookies of [undefined, '', '__Host-console=', '__Host-console=unknown', `x=${sessions.OPERATOR_ADMIN}`])
      expect([cookies, await isSignedInOperator(deps, cookies)]).toEqual([cookies, false])
  })

  it('a read-only token cannot change anything, and no token gives access to accounts or secrets', async () => {
    const token = async (scope: 'READ' | 'WRITE') =>
      (
        await testbed.db.tx((tx) =>
          createAccessToken(tx, testbed.deps.ids, people.OPERATOR_ADMIN, { name: scope, scope, days: 1 }),
        )
      ).token
    const [read, write] = [await token('READ'), await token('WRITE')]
    for (const route of routes.filter((one) => one.access !== 'anyone')) {
      const withRead = await call(route, own, '', { authorization: `Bearer ${read}` })
      const withWrite = await call(route, own, '', { authorization: `Bearer ${write}` })
      if (route.method !== 'GET') expect([route.path, withRead.status]).toEqual([route.path, 403])
      if (route.access === 'session' || /secret|password|second-factor|token|people/.test(route.path))
        if (route.method !== 'GET') expect([route.path, withWrite.status]).toEqual([route.path, 403])
    }
  })
})

async function callAs(route: Route, role: Role | undefined, tenantId: string, query = '') {
  if (role === undefined) return call(route, tenantId, query, { origin: ORIGIN })
  const changesSession = route.method === 'DELETE' || route.path === '/tenants/:tenantId/view'
  const token = changesSession ? await newSession(deleters[role]) : sessions[role]
  return call(route, tenantId, query, { origin: ORIGIN, cookie: `__Host-console=${token}` })
}

function newSession(personId: string): Promise<string> {
  const from = { address: '', userAgent: '', signedInBy: 'PASSWORD' as const }
  return testbed.db.tx(async (tx) => createSession(tx, testbed.deps.ids, personId, from))
}

const CONCURRENCY = 8

/** Maps with limited concurrency. Results are in the same order as the items. */
async function mapConcurrently<Item, Answer>(
  items: readonly Item[],
  map: (item: Item) => Promise<Answer>,
): Promise<Answer[]> {
  const answers: Answer[] = []
  for (let at = 0; at < items.length; at += CONCURRENCY)
    answers.push(...(await Promise.all(items.slice(at, at + CONCURRENCY).map(map))))
  return answers
}

let calls = 0

/** Makes calls with a well-formed path and an empty body: access is checked before the body is read. */
async function call(route: Route, tenantId: string, query: string, headers: Record<string, string>) {
  const path = route.path
    .replace(':tenantId', tenantId)
    .replace(':orderNo', '01M7YV3W62EGY972X1QAAAKC13')
    .replace(':supplier', 'nobody')
    .replace(/:\w+/, '00000000-0000-7000-8000-000000000001')
  calls++
  const answer = await testbed.app.inject({
    method: route.method,
    url: `/console/api${path}${query}`,
    remoteAddress: `10.${(calls >> 16) & 255}.${(calls >> 8) & 255}.${calls & 255}`,
    headers,
    ...(route.method !== 'GET' && route.body && { payload: {} }),
  })
  const isJson = String(answer.headers['content-type']).includes('application/json')
  return { status: answer.statusCode, body: isJson ? answer.json() : answer.body }
}

function isAllowed(answer: { status: number; body: { code?: string } }): boolean {
  const refused = ['SIGNED_OUT', 'NOT_ALLOWED', 'SESSION_NEEDED', 'PASSWORD_CHANGE_REQUIRED']
  return !refused.includes(answer.body?.code ?? '')
}

import type { TSchema } from 'typebox'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { routes } from '#http/console/console-routes.ts'
import type { Route } from '#http/console/kernel/route.ts'
import { createAccessToken } from '#people/account/access-token.ts'
import { addTenant, type ConsoleTestbed, ORIGIN, signedInAs, startConsole } from '../console-testbed.ts'

let testbed: ConsoleTestbed
let tenantId: string
let cookie: string
let authorization: string
beforeAll(async () => {
  testbed = await startConsole()
  tenantId = await addTenant(testbed, 'Target')
  const { personId, window } = await signedInAs(testbed, 'OPERATOR_ADMIN')
  cookie = window.cookie
  const input = { name: 'fuzz', scope: 'WRITE' as const, days: 1 }
  authorization = `Bearer ${(await testbed.db.tx((tx) => createAccessToken(tx, testbed.deps.ids, personId, input))).token}`
})
afterAll(() => testbed.stop())

describe('origins', () => {
  it('every route that makes changes checks the origin first, and refuses a wrong or missing one', async () => {
    for (const route of routes.filter((one) => one.method !== 'GET')) {
      for (const origin of [undefined, 'null', 'https://evil.test', `${ORIGIN}.evil.test`, 'http://gateway.test']) {
        const answer = await testbed.app.inject({
          method: route.method,
          url: urlOf(route),
          headers: { cookie, ...(origin && { origin }) },
        })
        const name = `${route.method} ${route.path} from ${origin}`
        expect([name, answer.statusCode, answer.json().code]).toEqual([name, 403, 'FOREIGN_ORIGIN'])
      }
    }
  })
})

const TEXTS = ['x', '-', '\u0000', "'", '9'.repeat(40), '0001-01-01T00:00:00Z', '9999-12-31T23:59:59Z', '\ud800']

describe('hostile texts', () => {
  it('no text in a query causes a GET route to fail', async () => {
    const failed: string[] = []
    for (const route of routes.filter((one) => one.method === 'GET' && one.access !== 'session')) {
      for (const name of Object.keys(propertiesOf(route.query))) {
        for (const text of TEXTS) {
          const query = new URLSearchParams({ ...(route.path.includes('.csv') && { month: '2026-11' }), [name]: text })
          const answer = await testbed.app.inject({ url: `${urlOf(route)}?${query}`, headers: { authorization } })
          if (answer.statusCode >= 500) failed.push(`${route.path} ${name}=${JSON.stringify(text)}`)
        }
      }
    }
    expect(failed).toEqual([])
  })

  it('no text in a body causes a route to fail', async () => {
    const failed: string[] = []
    let calls = 0
    for (const route of routes.filter((one) => one.body && !one.bodyType)) {
      for (const text of TEXTS) {
        const entries = Object.entries(propertiesOf(route.body)).map(([name, schema]) => [name, sampleOf(schema, text)])
        calls++
        const answer = await testbed.app.inject({
          method: route.method,
          url: urlOf(route),
          remoteAddress: `10.8.${calls >> 8}.${calls & 255}`,
          headers: { origin: ORIGIN, cookie },
          payload: Object.fromEntries(entries),
        })
        if (answer.statusCode >= 500) failed.push(`${route.method} ${route.path} ${JSON.stringify(text)}`)
      }
    }
    expect(failed).toEqual([])
  })
})

describe('deep nesting', () => {
  it.each([9, 60_000])('a body with %i levels of nesting is refused as invalid', async (depth) => {
    for (const [open, close] of [
      ['[', ']'],
      ['{"a":', '}'],
    ] as const) {
      const many = Math.min(depth, Math.floor(250_000 / (open.length + close.length)))
      const answer = await testbed.app.inject({
        method: 'POST',
        url: '/console/api/tenants',
        headers: { origin: ORIGIN, cookie, 'content-type': 'application/json' },
        payload: `{"clientName":${open.repeat(many)}1${close.repeat(many)},"currencyCode":"USD"}`,
      })
      expect([answer.statusCode, answer.json().code]).toEqual([400, 'REQUEST_INVALID'])
    }
  })
})

function propertiesOf(schema: TSchema | undefined): Record<string, TSchema> {
  return ((schema as { properties?: Record<string, TSchema> } | undefined)?.properties ?? {}) as Record<string, TSchema>
}

interface Plain {
  type?: string
  enum?: unknown[]
  anyOf?: TSchema[]
  items?: TSchema
  minLength?: number
}

/** A value that matches the schema. Strings are this one, repeated to the minimum length. */
function sampleOf(schema: TSchema, text: string): unknown {
  const { type, enum: choices, anyOf, items, minLength = 0 } = schema as Plain
  if (choices) return choices[0]
  if (anyOf) return sampleOf(anyOf[0]!, text)
  if (type === 'array') return [sampleOf(items!, text)]
  if (type === 'boolean') return true
  if (type === 'integer') return 1
  return text.padEnd(minLength, text)
}

function urlOf({ path }: Route): string {
  const named = path.replace(':tenantId', tenantId).replace(':orderNo', '01M7YV3W62EGY972X1QAAAKC13')
  return `/console/api${named.replaceAll(/:\w+/g, '00000000-0000-7000-8000-000000000001')}`
}

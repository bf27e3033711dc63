import { readFileSync } from 'node:fs'
import { validate } from '@scalar/openapi-parser'
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { codes, type FailureCode, failureCodes } from '#codes/codes.ts'
import { dryRuns } from '#requests/dry-runs.ts'
import { parseRequest } from '#requests/parse-request.ts'
import { operationNames, operations } from '#schemas/operations.ts'
import { events } from '#schemas/webhooks.ts'
import { dryRunExamples } from './dry-run-examples.ts'
import { failureExamples } from './failure-examples.ts'
import { openApiDocument } from './openapi-document.ts'
import { answerExamples, eventExamples, requestExamples } from './openapi-examples.ts'

const document = JSON.parse(JSON.stringify(openApiDocument()))

test('docs/openapi.json matches the contract (`npm run openapi` generates it)', () => {
  const committed = readFileSync(new URL('../../../../docs/openapi.json', import.meta.url), 'utf8')
  expect(committed).toBe(`${JSON.stringify(openApiDocument(), null, 2)}\n`)
})

test('the document conforms to the OpenAPI 3.1 schema and all its references resolve', async () => {
  const result = await validate(structuredClone(document))
  expect(result.errors ?? []).toEqual([])
  expect(result.version).toBe('3.1')
  const references = [...JSON.stringify(document).matchAll(/"(#\/[^"]+)"/g)].map((match) => match[1] ?? '')
  expect(references.length).toBeGreaterThan(100)
  for (const reference of references) expect(resolve(reference), reference).toBeTypeOf('object')
})

test('a package that has left sale and the failure of that name have a schema each', () => {
  const { PackageOffSale, PackageOffSaleFailure } = document.components.schemas
  expect(PackageOffSale.properties.status).toEqual({ type: 'string', const: 'OFF_SALE' })
  expect(PackageOffSaleFailure.properties.code).toEqual({ type: 'string', const: '310244' })
})

test('the validator rejects a broken document', async () => {
  const broken = structuredClone(document)
  delete broken.components.responses.Failure400.description
  expect((await validate(broken)).valid).toBe(false)
})

const RETRY_RULE = 'A retry needs a new RT-RequestID and the same `transactionId`'

test('every RT-RequestID and transactionId parameter documents which value to use for a retry', () => {
  expect(document.components.parameters.requestId.description).toContain(RETRY_RULE)
  expect([document.info.description, document.paths['/open-api/v1/esim/order'].post.description]).toEqual(
    [1, 2].map(() => expect.stringContaining(RETRY_RULE)),
  )
  expect(codes['101006'].remedy).toContain(RETRY_RULE)
})

test('every transactionId in a request or an event is described with its retry rule', () => {
  const all = Object.entries(document.components.schemas).flatMap(([name, schema]) =>
    membersOf(schema, 'transactionId').map(({ description = '' }) => [name, description] as const),
  )
  const ofActions = all.filter(([, description]) => description.includes('key of the action'))
  const ofSends = all.filter(([, description]) => description.includes('key of the send'))
  expect(ofSends.map(([name]) => name)).toEqual(['EsimQueryAnswer', 'EsimProfileSendAnswer'])
  const described = all.filter((one) => !ofActions.includes(one) && !ofSends.includes(one))
  expect(ofActions.map(([name]) => name)).toEqual([
    ...[
      'Action',
      'EsimProfileSendRequest',
      'EsimCancelRequest',
      'EsimSuspendRequest',
      'EsimUnsuspendRequest',
      'EsimRevokeRequest',
    ],
    'EsimActionQueryRequest',
  ])
  for (const [name, description] of ofActions) if (name !== 'Action') expect(description).toContain(RETRY_RULE)
  expect(described.map(([name]) => name)).toEqual([
    ...[
      'Profile',
      'EsimOrderRequest',
      'EsimOrderAnswer',
      'EsimTopupRequest',
      'EsimTopupAnswer',
      'EsimQueryRequest',
      'EsimQueryAnswer',
    ],
    ...['EsimProfileListRequest', 'OrderListAnswer', 'AccountStatementAnswer', 'EsimOrderDryRun', 'EsimTopupDryRun'],
    'OrderPaidEvent',
    ...['DeliveryUpdatedEvent', 'EsimUsageEvent', 'EsimExpiringEvent'],
  ])
  for (const [name, description] of described) {
    expect(description, name).toContain("The dealer's own key of the order")
    if (/(Request|DryRun|Event)$/.test(name)) expect(description, name).toContain(RETRY_RULE)
  }
})

test.each(operationNames)(
  '%s documents every failure that it can return, under its HTTP status and with an example',
  (name) => {
    const { responses, requestBody, parameters } = document.paths[`/open-api/v1/${name}`].post
    expect(requestBody.required).toBe(true)
    expect(parameters).toHaveLength(2)
    const common = failureCodes.filter((code) => Number(code) < 200_000)
    const answered: string[] = []
    for (const [status, answer] of Object.entries<{ $ref?: string }>(responses)) {
      if (status === '200') continue
      const { content } = answer.$ref ? resolve(answer.$ref) : answer
      for (const [code, example] of Object.entries<{ value: { code: string } }>(content['application/json'].examples)) {
        expect(String(codes[code as FailureCode].http)).toBe(status)
        expect(example.value.code).toBe(code)
        answered.push(code)
      }
    }
    expect(answered.sort()).toEqual([...common, ...operations[name].codes].sort())
  },
)

test('every code in the table is used by at least one operation', () => {
  const own = new Set(operationNames.flatMap((name) => [...operations[name].codes]))
  const common = failureCodes.filter((code) => Number(code) < 200_000)
  expect([...common, ...own].sort()).toEqual(failureCodes)
})

describe('examples fit their schemas', () => {
  test.each(operationNames)('%s', (name) => {
    expect(parseRequest(name, requestExamples[name])).toEqual({ ok: true, value: requestExamples[name] })
    expect(Check(operations[name].answer, answerExamples[name])).toBe(true)
  })
  test.each(['esim/order', 'esim/topup'] as const)('a dry run of %s', (name) => {
    const { request, answer } = dryRunExamples[name]
    expect(parseRequest(name, request)).toEqual({ ok: true, value: request })
    expect(Check(dryRuns[name].answer, answer)).toBe(true)
  })
  test.each(Object.keys(events) as (keyof typeof events)[])('%s', (type) => {
    expect(Check(events[type].body, eventExamples[type])).toBe(true)
  })
  test.each(failureCodes)('%s', (code) => {
    expect(Check(codes[code].data, failureExamples[code]?.data ?? {})).toBe(true)
  })
})

test('every member without fixed values has an example that fits it', () => {
  const members = Object.entries(document.components.schemas).flatMap(([name, schema]) => leaves(schema, name))
  expect(members.length).toBeGreaterThan(400)
  expect(members.filter(([, { examples }]) => examples === undefined).map(([path]) => path)).toEqual([])
  const unfit = members.filter(([, { examples = [], ...schema }]) => !examples.every((each) => Check(schema, each)))
  expect(unfit.map(([path, { examples }]) => [path, examples])).toEqual([])
})

test('every pattern behaves the same with and without the `u` flag', () => {
  const patterns = [...new Set(valuesOf(document, 'pattern') as string[])]
  expect(patterns.length).toBeGreaterThan(5)
  const texts = ['', 'Cape Town, sp{C}', '東京 🗼', 'line\nbreak', 'T-1', 'JP', '!GL', '\u0000', '0123456789012', 'USD']
  for (const pattern of patterns) {
    expect(
      texts.filter((text) => new RegExp(pattern).test(text)),
      pattern,
    ).toEqual(texts.filter((text) => new RegExp(pattern, 'u').test(text)))
  }
})

test('lone surrogates are refused, even though the published patterns do not mention them', () => {
  const request = { transactionId: 'T-1', packageInfoList: [{ packageCode: 'A', count: 1 }] }
  expect(parseRequest('esim/order', { ...request, remark: 'sp{C} 🗼' }).ok).toBe(true)
  expect(parseRequest('esim/order', { ...request, remark: 'half \ud83d' })).toMatchObject({ ok: false, code: '000108' })
})

test('responses are listed by exact status or as default, because generators do not support ranges', () => {
  const statuses = valuesOf(document, 'responses').flatMap((responses) => Object.keys(responses as object))
  expect(statuses.filter((status) => !/^(\d{3}|default|Failure\d{3})$/.test(status))).toEqual([])
})

/** The values of a member at any depth. */
function valuesOf(node: unknown, member: string): unknown[] {
  if (typeof node !== 'object' || node === null) return []
  return Object.entries(node).flatMap(([name, value]) => (name === member ? [value] : valuesOf(value, member)))
}

interface Member {
  examples?: unknown[]
  properties?: object
  items?: Member
  enum?: unknown[]
}

/** The members of a schema that are texts, numbers or lists of these, and that may have any value, by their path. */
function leaves(schema: unknown, path: string): [path: string, Member][] {
  if (typeof schema !== 'object' || schema === null) return []
  const { properties = {}, items, anyOf = [] } = schema as Record<string, object> & { anyOf?: object[] }
  const own = Object.entries(properties as Record<string, Member>).flatMap(([name, member]) => {
    const inner = leaves(member, `${path}.${name}`)
    const { items: of } = member
    const isOpen = (each: Member) => !['$ref', 'const', 'enum', 'anyOf', 'properties'].some((key) => key in each)
    const isFlag = (member as { type?: unknown }).type === 'boolean'
    const isLeaf = isOpen(member) && !isFlag && (member as { type?: unknown }).type !== 'object' && (!of || isOpen(of))
    return isLeaf ? [...inner, [`${path}.${name}`, member] as [string, Member]] : inner
  })
  return [...own, ...leaves(items, path), ...anyOf.flatMap((each) => leaves(each, path))]
}

/** The schemas of a member at any depth. */
function membersOf(schema: unknown, member: string): { description?: string }[] {
  if (typeof schema !== 'object' || schema === null) return []
  const own = (schema as { properties?: Record<string, object> }).properties?.[member]
  return [...(own ? [own] : []), ...Object.values(schema).flatMap((part) => membersOf(part, member))]
}

// biome-ignore lint/suspicious/noExplicitAny: a JSON document is walked
function resolve(reference: string): any {
  return reference
    .slice(2)
    .split('/')
    .reduce((node, member) => node?.[member.replaceAll('~1', '/').replaceAll('~0', '~')], document)
}

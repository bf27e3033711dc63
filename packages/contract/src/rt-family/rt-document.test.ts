import { readFileSync } from 'node:fs'
import { validate } from '@scalar/openapi-parser'
import { Check } from 'typebox/value'
import { describe, expect, test } from 'vitest'
import { rtCodes, rtCommonCodes } from './rt-codes.ts'
import { rtOpenApiDocument } from './rt-document.ts'
import { type RtNotifyType, rtEvents } from './rt-events.ts'
import { rtEventExample, rtExamples } from './rt-examples.ts'
import { type RtOperationName, rtOperations } from './rt-operations.ts'

const document = JSON.parse(JSON.stringify(rtOpenApiDocument()))
const names = Object.keys(rtOperations) as RtOperationName[]

test('docs/openapi-rt.json matches the contract (`npm run openapi` generates it)', () => {
  const committed = readFileSync(new URL('../../../../docs/openapi-rt.json', import.meta.url), 'utf8')
  expect(committed).toBe(`${JSON.stringify(rtOpenApiDocument(), null, 2)}\n`)
})

test('the document conforms to the OpenAPI 3.1 schema and all its references resolve', async () => {
  const result = await validate(structuredClone(document))
  expect(result.errors ?? []).toEqual([])
  expect(result.version).toBe('3.1')
  const references = [...JSON.stringify(document).matchAll(/"#\/components\/schemas\/([^"]+)"/g)].map(
    (match) => match[1]!,
  )
  expect(references.length).toBeGreaterThan(30)
  for (const name of references) expect(document.components.schemas[name], name).toBeTypeOf('object')
})

describe('examples fit their schemas', () => {
  test.each(names)('%s', (name) => {
    const { request, obj } = rtOperations[name]
    expect(Check(request, rtExamples[name].request)).toBe(true)
    expect(Check(obj, rtExamples[name].obj)).toBe(true)
  })
  test.each(Object.keys(rtEvents) as RtNotifyType[])('%s', (type) => {
    expect(Check(rtEvents[type].body, rtEventExample(type))).toBe(true)
  })
})

test('every code is either common to all operations or specific to one operation', () => {
  const own = names.flatMap((name) => [...rtOperations[name].codes])
  expect([...new Set([...rtCommonCodes, ...own])].sort()).toEqual(Object.keys(rtCodes).sort())
})

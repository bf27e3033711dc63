import type { Route } from 'playwright-core'

/** As the OpenAPI document of the console API declares an answer. */
interface Schema {
  type?: string
  const?: unknown
  enum?: unknown[]
  format?: string
  minimum?: number
  anyOf?: Schema[]
  items?: Schema
  properties?: { [name: string]: Schema }
}

interface Document {
  paths: {
    [path: string]: {
      [method: string]: { responses: { 200: { content?: { 'application/json'?: { schema: Schema } } } } }
    }
  }
}

/** Answers every change that a page asks for as the gateway would if it succeeded, and changes nothing. */
export async function pretendingToChange(consoleUrl: string): Promise<(route: Route) => Promise<void>> {
  const { paths } = (await (await fetch(`${consoleUrl}/api/openapi.json`)).json()) as Document
  const operations = Object.entries(paths).map(([path, methods]) => {
    const pattern = new RegExp(`${path.replaceAll(/\{\w+\}/g, '[^/]+')}$`)
    return { pattern, methods }
  })
  return (route) => {
    const method = route.request().method().toLowerCase()
    if (method === 'get') return route.fallback()
    const path = new URL(route.request().url()).pathname.replace('/api/test/', '/api/')
    const found = operations.find(({ pattern, methods }) => pattern.test(path) && method in methods)
    const schema = found?.methods[method]?.responses[200].content?.['application/json']?.schema
    return route.fulfill({ json: schema ? exampleOf(schema) : {} })
  }
}

/** In digits, which are no language, except for what pages cannot show without a real value. */
function exampleOf(schema: Schema, name = ''): unknown {
  if (schema.const !== undefined) return schema.const
  if (schema.enum) return schema.enum[0]
  if (schema.anyOf) return exampleOf(schema.anyOf[0]!, name)
  if (schema.properties)
    return Object.fromEntries(
      Object.entries(schema.properties).map(([name, member]) => [name, exampleOf(member, name)]),
    )
  if (schema.items) return [exampleOf(schema.items, name)]
  if (schema.type === 'boolean') return true
  if (schema.type === 'integer' || schema.type === 'number') return Math.max(schema.minimum ?? 2, 2)
  if (schema.type === 'string') return exampleText(schema, name)
  return schema.type === 'object' ? {} : null
}

function exampleText({ format }: Schema, name: string): string {
  if (/currency/i.test(name)) return 'USD'
  return format === 'date-time' ? new Date().toISOString() : '7'
}

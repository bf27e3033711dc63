import Type from 'typebox'
import { ROLES } from '#people/person.ts'
import type { Route } from './route.ts'

/** A route's entry in the OpenAPI document. Requests are validated against the same schemas. */
export function routeSchema(route: Route) {
  const { access, params, query, body, answer } = route
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: `Access: ${typeof access === 'string' ? access : access.join(', ')}.${route.sessionOnly ? ' With a session only.' : ''}`,
    tags: [tagOf(route)],
    security: securityOf(route),
    // The allowed roles, for programs.
    'x-roles': access === 'anyone' ? [] : access === 'session' ? ROLES : access,
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body, consumes: [route.bodyType ?? JSON_TYPE] }),
    response: {
      200: {
        description: 'Success.',
        content: { [route.answerType ?? JSON_TYPE]: { schema: answer } },
      },
      400: { description: 'The request is malformed.', content: { [JSON_TYPE]: { schema: failure } } },
      // Not 4XX and 5XX: orval writes ranges as numbers, which do not compile.
      default: {
        description: 'Other 4xx: the request was refused. 503: nothing has changed. Other 5xx: the gateway failed.',
        content: { [JSON_TYPE]: { schema: failure } },
      },
    },
  }
}

/** Options for the document as a whole. */
export function openApiOptions(cookieName: string, routes: readonly Route[]) {
  return {
    openapi: {
      openapi: '3.1.0' as const,
      info: {
        title: 'Console API',
        version: '1',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description:
          'The API of the console. Scripts can use it too: send a personal access token as `Authorization: Bearer`. In test mode, dealers find the paths below `/console/api/test`, about their test twin.',
      },
      tags: [...new Set(routes.map(tagOf))].map((name) => ({ name })),
      components: {
        securitySchemes: {
          accessToken: { type: 'http' as const, scheme: 'bearer' },
          session: { type: 'apiKey' as const, in: 'cookie' as const, name: cookieName },
        },
      },
    },
  }
}

const JSON_TYPE = 'application/json'

const failure = Type.Object({
  code: Type.String({ description: 'UPPER_SNAKE, or a code of the dealer API' }),
  message: Type.String({ description: 'What happened and what to do' }),
  data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})

function securityOf({ access, sessionOnly }: Route): Record<string, string[]>[] {
  if (access === 'anyone') return []
  if (access === 'session' || sessionOnly) return [{ session: [] }]
  return [{ accessToken: [] }, { session: [] }]
}

function tagOf({ path }: Route): string {
  return path.split('/')[1] ?? ''
}

/** Client generators use this as the function name: `GET /tenants/:tenantId/wallet` is getTenantsByTenantIdWallet. */
function operationIdOf({ method, path }: Route): string {
  const words = path.split(/[/.-]/).filter(Boolean)
  const capitalized = words.map((word) => (word.startsWith(':') ? `By${capitalize(word.slice(1))}` : capitalize(word)))
  return method.toLowerCase() + capitalized.join('')
}

function capitalize(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

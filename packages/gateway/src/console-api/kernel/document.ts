import Type from 'typebox'
import { ROLES } from '../../people/person.ts'
import type { Route } from './route.ts'

/** How a route stands in the OpenAPI document, and what its parts are checked against. */
export function schemaOf(route: Route) {
  const { who, params, query, body, answer } = route
  return {
    operationId: operationIdOf(route),
    summary: route.summary,
    description: `Who may call: ${typeof who === 'string' ? who : who.join(', ')}.${route.sessionOnly ? ' By a session only.' : ''}`,
    tags: [tagOf(route)],
    security: securityOf(route),
    // For programs: the roles that may call.
    'x-roles': who === 'anyone' ? [] : who === 'session' ? ROLES : who,
    ...(params && { params }),
    ...(query && { querystring: query }),
    ...(body && { body, consumes: [route.bodyType ?? JSON_TYPE] }),
    response: {
      200: {
        description: 'It was done.',
        content: { [route.answerType ?? JSON_TYPE]: { schema: answer } },
      },
      400: { description: 'The request is malformed.', content: { [JSON_TYPE]: { schema: failure } } },
      // Not 4XX and 5XX: orval writes ranges as numbers, which do not compile.
      default: {
        description: 'Other 4xx: refused. 503: failed and changed nothing. Other 5xx: failed.',
        content: { [JSON_TYPE]: { schema: failure } },
      },
    },
  }
}

export function documentOf(cookieName: string, routes: readonly Route[]) {
  return {
    openapi: {
      openapi: '3.1.0' as const,
      info: {
        title: 'Console interface',
        version: '1',
        license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
        description:
          'What the console calls, for scripts too: send a personal access token as `Authorization: Bearer`.',
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
  code: Type.String({ description: 'UPPER_SNAKE, or a code of the dealers’ table' }),
  message: Type.String({ description: 'A sentence that says what happened and what to do' }),
  data: Type.Optional(Type.Record(Type.String(), Type.Unknown())),
})

function securityOf({ who, sessionOnly }: Route): Record<string, string[]>[] {
  if (who === 'anyone') return []
  if (who === 'session' || sessionOnly) return [{ session: [] }]
  return [{ accessToken: [] }, { session: [] }]
}

function tagOf({ path }: Route): string {
  return path.split('/')[1] ?? ''
}

/** `GET /tenants/:tenantId/wallet` is getTenantsByTenantIdWallet: generators of clients name functions so. */
function operationIdOf({ method, path }: Route): string {
  const words = path.split(/[/.-]/).filter(Boolean)
  const named = words.map((word) => (word.startsWith(':') ? `By${capital(word.slice(1))}` : capital(word)))
  return method.toLowerCase() + named.join('')
}

function capital(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1)
}

import { dryRuns, hasDryRun } from '#requests/dry-runs.ts'
import { API_PATH, type OperationName, operationNames, operations } from '#schemas/operations.ts'
import { events } from '#schemas/webhooks.ts'
import { EVENT_HEADERS } from '#signing/event-signing.ts'
import { REQUEST_HEADERS } from '#signing/request-headers.ts'
import { dryRunExamples } from './dry-run-examples.ts'
import { ANSWER_HEADERS, operationAnswers, sharedAnswers } from './openapi-answers.ts'
import { EXAMPLE_REQUEST_ID, eventExamples, requestExamples } from './openapi-examples.ts'
import {
  componentSchemas,
  eitherOf,
  examplesOf,
  type Json,
  namedSchemas,
  reference,
  schemaName,
} from './openapi-schemas.ts'

/** The OpenAPI 3.1 document of the dealer API, including webhooks. `serverUrl` is the gateway's base URL. */
export function openApiDocument({ serverUrl = '/' }: { serverUrl?: string } = {}): Json {
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dealer eSIM Open API',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: TAGS,
    security: [{ accessCode: [], signature: [] }],
    paths: Object.fromEntries(operationNames.map((name) => [API_PATH + name, { post: operationItem(name) }])),
    webhooks: Object.fromEntries(
      Object.keys(events).map((type) => [type, { post: webhookItem(type as keyof typeof events) }]),
    ),
    components: {
      schemas: componentSchemas(),
      responses: sharedAnswers(),
      headers: ANSWER_HEADERS,
      parameters: PARAMETERS,
      securitySchemes: SECURITY_SCHEMES,
    },
  }
}

const DESCRIPTION = `Buy eSIMs from a prepaid balance.

Every operation is a signed POST of a JSON object. Every answer, including failures, is \`{"code", "message", "data"}\`; success is code \`000000\`.

    X-Signature = hex( HMAC-SHA256( AppSecret, RT-Timestamp + RT-RequestID + RT-AccessCode + rawBody ) )

There are no separators, the body is signed byte for byte as sent, and the key is the UTF-8 bytes of the AppSecret's text.

A retry needs a new RT-RequestID and the same \`transactionId\`: the RT-RequestID guards against replay and is accepted once, the \`transactionId\` makes the order idempotent.

Money is an integer in 1/10 000 of \`currencyCode\`: 45000 is 4.50. Data volume is in bytes. Times are RFC 3339. Clients must ignore members that they do not know.`

type Tag = OperationName extends infer Name ? (Name extends `${infer First}/${string}` ? First : never) : never

/** Groups of operations, by the first part of their names. */
const TAG_DESCRIPTIONS: Record<Tag, string> = {
  account: 'The connection and the balance',
  ledger: 'Proofs that the entries of the balance were never changed',
  package: 'The catalogue',
  location: 'Where eSIMs can be used',
  device: 'What takes an eSIM',
  esim: 'Buying and managing eSIMs',
  brand: 'How travellers see the tenant',
  order: 'Lists of orders',
  webhook: 'Events to the dealer',
  test: 'Test accounts: states, usage and time on request',
}
const TAGS = Object.entries(TAG_DESCRIPTIONS).map(([name, description]) => ({ name, description }))

const SECURITY_SCHEMES: Json = {
  accessCode: { type: 'apiKey', in: 'header', name: REQUEST_HEADERS.appKey, description: 'The AppKey.' },
  signature: {
    type: 'apiKey',
    in: 'header',
    name: REQUEST_HEADERS.signature,
    description: 'Hex HMAC-SHA256 over RT-Timestamp + RT-RequestID + RT-AccessCode + raw body, keyed by the AppSecret.',
  },
}

const TIMESTAMP = { type: 'string', pattern: '^[0-9]{13}$', examples: ['1795181289000'] }
const HEX_SIGNATURE = { type: 'string', pattern: '^[0-9A-Fa-f]{64}$' }

const PARAMETERS: Json = {
  requestId: parameter(
    REQUEST_HEADERS.requestId,
    'A new UUID for each request, accepted once. A retry needs a new RT-RequestID and the same `transactionId`.',
    {
      type: 'string',
      format: 'uuid',
      examples: [EXAMPLE_REQUEST_ID],
    },
  ),
  timestamp: parameter(
    REQUEST_HEADERS.timestamp,
    "Milliseconds since 1970, within 300 s of the gateway's clock.",
    TIMESTAMP,
  ),
  webhookId: parameter(EVENT_HEADERS.id, 'The notifyId (Standard Webhooks).', { type: 'string' }),
  webhookTimestamp: parameter(EVENT_HEADERS.timestamp, 'Seconds since 1970 (Standard Webhooks).', {
    type: 'string',
    pattern: '^[0-9]+$',
  }),
  webhookSignature: parameter(
    EVENT_HEADERS.signature,
    'One `v1,` signature, or two separated by a space in a grace period. The secret is `whsec_` + base64 of the AppSecret (Standard Webhooks).',
    { type: 'string' },
  ),
  eventAppKey: parameter(REQUEST_HEADERS.appKey, 'The AppKey of the tenant.', { type: 'string' }),
  eventSignature: parameter(REQUEST_HEADERS.signature, 'The event signed like a request.', HEX_SIGNATURE),
}

function operationItem(name: OperationName): Json {
  const { summary, description } = operations[name]
  const id = schemaName(name)
  return {
    operationId: id.charAt(0).toLowerCase() + id.slice(1),
    summary,
    description,
    tags: [name === 'health' ? 'account' : name.slice(0, name.indexOf('/'))],
    parameters: parameters('requestId', 'timestamp'),
    requestBody: {
      required: true,
      content: {
        'application/json': {
          schema: eitherOf([operations[name].request, hasDryRun(name) ? dryRuns[name].request : undefined]),
          ...examplesOf(requestExamples[name], hasDryRun(name) ? dryRunExamples[name].request : undefined),
        },
      },
    },
    responses: operationAnswers(name),
  }
}

function webhookItem(type: keyof typeof events): Json {
  const { summary, body } = events[type]
  return {
    operationId: `on_${type}`,
    summary,
    tags: ['webhook'],
    description: 'Delivered at least once and in any order: use `notifyId` and `sequence`.',
    security: [],
    parameters: parameters(
      ...[
        'webhookId',
        'webhookTimestamp',
        'webhookSignature',
        'eventAppKey',
        'requestId',
        'timestamp',
        'eventSignature',
      ],
    ),
    requestBody: {
      required: true,
      content: {
        'application/json': { schema: reference(namedSchemas().get(body) ?? type), example: eventExamples[type] },
      },
    },
    responses: {
      '200': { description: 'Acknowledged, as by any other 2xx. Answer within 10 s (CHECK_HEALTH: 5 s).' },
      '410': { description: 'Disables the endpoint.' },
      default: { description: 'Not acknowledged: the event is sent again later (CHECK_HEALTH: never).' },
    },
  }
}

function parameter(name: string, description: string, schema: Json): Json {
  return { name, in: 'header', required: true, description, schema }
}

function parameters(...names: string[]): Json[] {
  return names.map((name) => ({ $ref: `#/components/parameters/${name}` }))
}

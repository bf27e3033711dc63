import type { TSchema } from 'typebox'
import { EXAMPLE_REQUEST_ID } from '#openapi/openapi-examples.ts'
import { expandSchema, type Json, pascal, reference } from '#openapi/openapi-schemas.ts'
import { REQUEST_HEADERS } from '#signing/request-headers.ts'
import { rtCodes, rtCommonCodes } from './rt-codes.ts'
import { type RtNotifyType, rtEvents } from './rt-events.ts'
import { rtEventExample, rtExamples } from './rt-examples.ts'
import { RT_API_PATH, type RtOperationName, rtOperations } from './rt-operations.ts'

/** The OpenAPI 3.1 document of the API for programs of the RT family, including its events. */
export function rtOpenApiDocument({ serverUrl = '/' }: { serverUrl?: string } = {}): Json {
  const names = Object.keys(rtOperations) as RtOperationName[]
  const types = Object.keys(rtEvents) as RtNotifyType[]
  return {
    openapi: '3.1.0',
    info: {
      title: 'Dealer eSIM API for programs of the RT family',
      version: '1.0.0',
      description: DESCRIPTION,
      license: { name: 'Apache-2.0', identifier: 'Apache-2.0' },
    },
    servers: [{ url: serverUrl }],
    tags: TAGS,
    security: [{ accessCode: [], requestId: [], timestamp: [], signature: [] }],
    paths: Object.fromEntries(names.map((name) => [RT_API_PATH + name, { post: operationItem(name) }])),
    webhooks: Object.fromEntries(types.map((type) => [type, { post: webhookItem(type) }])),
    components: {
      schemas: componentSchemas(),
      securitySchemes: {
        accessCode: header(REQUEST_HEADERS.appKey, 'The AppKey.'),
        requestId: header(
          REQUEST_HEADERS.requestId,
          `New for each request: 8 to 64 letters, digits and hyphens, such as ${EXAMPLE_REQUEST_ID}.`,
        ),
        timestamp: header(REQUEST_HEADERS.timestamp, "Milliseconds since 1970, within 300 s of the gateway's clock."),
        signature: header('RT-Signature', 'Hex HMAC-SHA256, as described above.'),
      },
    },
  }
}

const DESCRIPTION = `For programs that were written for an API with the four \`RT-*\` headers. New programs use the dealer API.

    RT-Signature = hex( HMAC-SHA256( AppSecret, RT-Timestamp + RT-RequestID + RT-AccessCode + rawBody ) )

Every answer has HTTP status 200 and is \`{"success", "errorCode", "errorMsg", "errorMessage", "obj"}\`; \`errorCode\` is null on success. In requests, null and "" mean absent, and unknown members are ignored.

An operator can allow a dealer requests without a signature: with \`RT-AccessCode\` alone, or with \`RT-SecretKey\`, the AppSecret itself. \`/api/v5/esim/package/list\`, \`/api/v5/esim/order\` and \`/api/v5/esim/query\` are other paths of \`package/list\`, \`esim/order\` and \`esim/query\`.

Money is an integer in 1/10 000 USD. Data volume is in bytes.`

const TAGS = [
  { name: 'balance', description: 'The prepaid balance' },
  { name: 'location', description: 'Where eSIMs can be used' },
  { name: 'package', description: 'The catalogue' },
  { name: 'esim', description: 'Buying and managing eSIMs' },
  { name: 'webhook', description: 'Events to the dealer' },
]

function header(name: string, description: string): Json {
  return { type: 'apiKey', in: 'header', name, description }
}

function operationItem(name: RtOperationName): Json {
  const { summary } = rtOperations[name]
  const id = `Rt${pascal(name)}`
  const hasBody = Object.keys(rtOperations[name].request.properties).length > 0
  return {
    operationId: id.charAt(0).toLowerCase() + id.slice(1),
    summary,
    description: codesOf(name),
    tags: [name.slice(0, name.indexOf('/'))],
    requestBody: {
      required: hasBody,
      content: {
        'application/json': { schema: reference(`${id}Request`), example: rtExamples[name].request },
      },
    },
    responses: {
      '200': {
        description: 'Success or failure',
        content: {
          'application/json': {
            schema: { type: 'object', oneOf: [reference(`${id}Answer`), reference('RtFailure')] },
            examples: {
              success: { summary: 'Success', value: envelope(null, rtExamples[name].obj) },
              failure: { summary: 'Failure', value: envelope('900001', {}) },
            },
          },
        },
      },
    },
  }
}

function codesOf(name: RtOperationName): string {
  const own = rtOperations[name].codes.map((code) => `\n- \`${code}\`: ${rtCodes[code]}`)
  return own.length === 0 ? 'It has no codes of its own.' : `Its own codes:\n${own.join('')}`
}

function envelope(code: keyof typeof rtCodes | null, obj: object): object {
  const message = code === null ? null : rtCodes[code]
  return { success: code === null, errorCode: code, errorMsg: message, errorMessage: message, obj }
}

function webhookItem(type: RtNotifyType): Json {
  const name = `Rt${pascal(type)}Event`
  return {
    operationId: `onRt_${type}`,
    summary: rtEvents[type].summary,
    description:
      'Signed like an event of the dealer API, with the signature in RT-Signature, too. Delivered at least once and in any order.',
    tags: ['webhook'],
    security: [],
    requestBody: {
      required: true,
      content: { 'application/json': { schema: reference(name), example: rtEventExample(type) } },
    },
    responses: {
      '200': { description: 'Acknowledged, as by any other 2xx. Answer within 10 s (CHECK_HEALTH: 5 s).' },
      '410': { description: 'Disables the endpoint.' },
      default: { description: 'Not acknowledged: the event is sent again later (CHECK_HEALTH: never).' },
    },
  }
}

function componentSchemas(): Json {
  const schemas: Json = {}
  for (const [name, { request, obj }] of Object.entries(rtOperations)) {
    schemas[`Rt${pascal(name)}Request`] = expand(request)
    schemas[`Rt${pascal(name)}Answer`] = envelopeSchema(expand(obj))
  }
  for (const [type, { body }] of Object.entries(rtEvents)) schemas[`Rt${pascal(type)}Event`] = expand(body)
  schemas.RtFailure = FAILURE
  return schemas
}

function expand(schema: TSchema): Json {
  return expandSchema(schema, new Map())
}

function envelopeSchema(obj: Json): Json {
  const none = { type: 'null' }
  return {
    type: 'object',
    required: ['success', 'errorCode', 'errorMsg', 'errorMessage', 'obj'],
    properties: {
      success: { type: 'boolean', const: true },
      errorCode: none,
      errorMsg: none,
      errorMessage: none,
      obj,
    },
  }
}

const FAILURE: Json = {
  type: 'object',
  required: ['success', 'errorCode', 'errorMsg', 'errorMessage', 'obj'],
  properties: {
    success: { type: 'boolean', const: false },
    errorCode: {
      type: 'string',
      description: `Of any operation:\n${rtCommonCodes.map((code) => `\n- \`${code}\`: ${rtCodes[code]}`).join('')}`,
      enum: Object.keys(rtCodes).sort(),
    },
    errorMsg: { type: 'string', description: 'Says what to do next. For people; programs use errorCode.' },
    errorMessage: { type: 'string', description: 'The same.' },
    obj: { type: 'object', description: 'Empty.' },
  },
}

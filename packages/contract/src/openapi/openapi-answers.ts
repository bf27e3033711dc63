import { codes, type FailureCode } from '#codes/codes.ts'
import { failure, success } from '#codes/envelope.ts'
import { dryRuns, hasDryRun } from '#requests/dry-runs.ts'
import { commonCodes, type OperationName, operations } from '#schemas/operations.ts'
import { dryRunExamples } from './dry-run-examples.ts'
import { failureExamples } from './failure-examples.ts'
import { answerExamples, EXAMPLE_REQUEST_ID } from './openapi-examples.ts'
import { eitherOf, examplesOf, failureName, type Json, reference } from './openapi-schemas.ts'

/** The answers of an operation by HTTP status: its success and its possible failures. */
export function operationAnswers(name: OperationName): Json {
  const own: readonly FailureCode[] = operations[name].codes
  const answers: Json = { '200': successAnswer(name) }
  for (const [status, group] of byStatus([...commonCodes, ...own])) {
    const shared = !group.some((code) => own.includes(code))
    answers[status] = shared ? { $ref: `#/components/responses/Failure${status}` } : failureAnswer(group)
  }
  return answers
}

/** `components.responses`: the failures common to all operations, by HTTP status. */
export function sharedAnswers(): Json {
  return Object.fromEntries(byStatus(commonCodes).map(([status, group]) => [`Failure${status}`, failureAnswer(group)]))
}

/** The headers of answers by name. */
export const ANSWER_HEADERS: Json = {
  'RT-RequestID': header('The RT-RequestID of the request.', { type: 'string', format: 'uuid' }),
  'Idempotent-Replayed': header('`true` if the order or action existed before this call.', {
    type: 'string',
    const: 'true',
  }),
  'Retry-After': header('Seconds to wait before the next call.', { type: 'integer', minimum: 1 }),
  Allow: header('The method that is allowed: POST.', { type: 'string', const: 'POST' }),
  'RateLimit-Limit': header('Requests per second of this tenant.', { type: 'integer' }),
  'RateLimit-Remaining': header('Requests that can still be sent now.', { type: 'integer' }),
  'RateLimit-Reset': header('Seconds until the limit is restored.', { type: 'integer' }),
}

/** Operations that a transactionId makes idempotent. */
const IDEMPOTENT: ReadonlySet<OperationName> = new Set([
  'esim/order',
  'esim/topup',
  'esim/profile/send',
  'esim/cancel',
  'esim/suspend',
  'esim/unsuspend',
  'esim/revoke',
])

function successAnswer(name: OperationName): Json {
  const headers = IDEMPOTENT.has(name) ? ['RT-RequestID', 'Idempotent-Replayed'] : ['RT-RequestID']
  const schema = {
    type: 'object',
    required: ['code', 'message', 'data'],
    properties: {
      code: { type: 'string', const: '000000' },
      message: { type: 'string', const: codes['000000'].message },
      data: eitherOf([operations[name].answer, hasDryRun(name) ? dryRuns[name].answer : undefined]),
    },
  }
  const ofDryRun = hasDryRun(name) ? success(dryRunExamples[name].answer) : undefined
  const content = { 'application/json': { schema, ...examplesOf(success(answerExamples[name]), ofDryRun) } }
  return { description: 'Success', headers: headerReferences(headers), content }
}

function failureAnswer(group: FailureCode[]): Json {
  const alternatives = group.map((code) => reference(failureName(code)))
  const schema =
    alternatives.length === 1 ? alternatives[0] : { oneOf: alternatives, discriminator: discriminator(group) }
  const examples = Object.fromEntries(group.map((code) => [code, { summary: codes[code].name, value: example(code) }]))
  return {
    description: group.map((code) => `\`${code}\` ${codes[code].name}`).join(', '),
    headers: headerReferences(['RT-RequestID', ...new Set(group.flatMap((code) => [...codes[code].headers]))]),
    content: { 'application/json': { schema, examples } },
  }
}

function example(code: FailureCode): object {
  const parts: { details?: { field: string; reason: string }[]; data?: object } = failureExamples[code] ?? {}
  return failure<FailureCode>(code, EXAMPLE_REQUEST_ID, parts)
}

function discriminator(group: FailureCode[]): Json {
  const mapping = group.map((code) => [code, `#/components/schemas/${failureName(code)}`])
  return { propertyName: 'code', mapping: Object.fromEntries(mapping) }
}

function byStatus(all: readonly FailureCode[]): [status: string, FailureCode[]][] {
  const statuses = [...new Set(all.map((code) => codes[code].http))].sort((left, right) => left - right)
  return statuses.map((status) => [String(status), all.filter((code) => codes[code].http === status)])
}

function headerReferences(names: string[]): Json {
  return Object.fromEntries(names.map((name) => [name, { $ref: `#/components/headers/${name}` }]))
}

function header(description: string, schema: Json): Json {
  return { description, schema }
}

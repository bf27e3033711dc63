export * from './accounts.ts'
export * from './activation-code.ts'
export * from './codes.ts'
export * from './eid.ts'
export * from './envelope.ts'
export {
  EVENT_HEADERS,
  type EventHeaders,
  type EventParts,
  type EventRefusal,
  type EventVerdict,
  webhookSecret,
} from './event-headers.ts'
export { signEvent, verifyEvent } from './event-signing.ts'
export * from './event-types.ts'
export * from './events.ts'
export * from './examples.ts'
export { type Fault, type FaultCode, faultsOf } from './faults.ts'
export { FORMS } from './forms.ts'
export * from './iccid.ts'
export * from './limits.ts'
export * from './money.ts'
export { openApiDocument } from './openapi.ts'
export * from './operations.ts'
export * from './order-statuses.ts'
export * from './orders.ts'
export * from './packages.ts'
export { type ParsedRequest, parseRequest } from './parse-request.ts'
export * from './profiles.ts'
export * from './request-headers.ts'
export { type Body, signRequest, stringToSign, verifyRequest } from './signing.ts'
export { parseStrictJson, type StrictJson } from './strict-json.ts'
export * from './times.ts'
export { type Attempt, type MismatchedRequest, type Mistake, type MistakeId, usualMistakes } from './usual-mistakes.ts'
export * from './webhook-setting.ts'

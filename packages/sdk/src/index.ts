export type * from '@dealer-esim/contract'
export type { Exchange } from './attempt.ts'
export type { CallOptions, CallResult } from './call.ts'
export {
  DealerEsim,
  type DealerEsimOptions,
  newTransactionId,
  type Order,
  type OrderCallOptions,
} from './client.ts'
export { DealerEsimError, type ErrorCode, type LocalCode } from './error.ts'
export { expressWebhook, fastifyWebhook, fetchWebhook, nodeWebhook } from './handlers.ts'
export type { WebhookOptions } from './receive.ts'
export { type HeadersGiven, type ReceivedEvent, verifyEvent } from './verify-event.ts'

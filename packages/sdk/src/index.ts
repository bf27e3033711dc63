export {
  type AnswerOf,
  type BalanceAnswer,
  type CheckHealth,
  type Code,
  type DeliveryUpdated,
  type DeliveryUpdatedContent,
  type EsimStatus,
  type EventType,
  type FailureCode,
  type FailureData,
  type FaultDetail,
  FINAL_ORDER_STATUSES,
  formatMoney,
  type HealthAnswer,
  type LocationNetwork,
  type Notification,
  type NotifyType,
  type OperationName,
  ORDER_STATUSES,
  type OrderAnswer,
  type OrderLine,
  type OrderLineRequest,
  type OrderPaid,
  type OrderPaidContent,
  type OrderRequest,
  type OrderStatus,
  type Package,
  type PackageListAnswer,
  type PackageListRequest,
  type PackageOffSale,
  type PackageOnSale,
  type Profile,
  type ProfileListAnswer,
  type ProfileListRequest,
  parseMoney,
  type QueryAnswer,
  type QueryRequest,
  type RequestOf,
  type SmdpStatus,
  type WebhookSetAnswer,
  type WebhookSetRequest,
} from '@dealer-esim/contract'
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
export type { WaitOptions } from './wait-for-order.ts'
export { expressWebhook, fastifyWebhook, fetchWebhook, nodeWebhook } from './webhooks/handlers.ts'
export type { WebhookOptions } from './webhooks/receive.ts'
export { type HeadersInput, type ReceivedEvent, verifyEvent } from './webhooks/verify-event.ts'

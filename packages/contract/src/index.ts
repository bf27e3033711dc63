export * from './activation-code.ts'
export { fromBase64, toBase64 } from './base64.ts'
export {
  type BooksHead,
  type BooksResult,
  booksFileHead,
  booksFileLine,
  verifyBooksFile,
  verifyBooksHead,
} from './books/books-file.ts'
export { type Checkpoint, checkpointText, verifyCheckpoint } from './books/checkpoint.ts'
export {
  checkChain,
  compareOrders,
  firstOf,
  type OwnOrder,
  parseOwnOrders,
} from './books/compare-entries.ts'
export {
  FINDINGS,
  type Finding,
  type FindingId,
  type FindingValues,
  findingOf,
  LIST_FINDINGS,
  MalformedOrders,
} from './books/findings.ts'
export {
  type EndorsedKey,
  endorsementText,
  followEndorsements,
  KEYS_NAME,
  restoreText,
  verifyRestore,
} from './books/key-notes.ts'
export { type LeafEntry, leafText } from './books/leaf.ts'
export { consistencyRanges, inclusionRanges, type LeafRange, type Subtree, subtreesOf } from './books/tree-ranges.ts'
export {
  type Remembered,
  type TrustedCheckpoint,
  trustCheckpoint,
  type Verdict,
} from './books/trust-checkpoint.ts'
export { type TreeHead, verifyConsistency, verifyInclusion } from './books/verify-proof.ts'
export * from './brand-colours.ts'
export * from './codes/codes.ts'
export * from './codes/envelope.ts'
export * from './currencies.ts'
export * from './identifiers.ts'
export * from './limits.ts'
export * from './money.ts'
export * from './openapi/dry-run-examples.ts'
export * from './openapi/failure-examples.ts'
export { openApiDocument } from './openapi/openapi-document.ts'
export * from './openapi/openapi-examples.ts'
export { failureName } from './openapi/openapi-schemas.ts'
export * from './order-no.ts'
export * from './requests/dry-runs.ts'
export { type Fault, type FaultCode, listFaults } from './requests/faults.ts'
export { type ParsedRequest, parseRequest } from './requests/parse-request.ts'
export { parseStrictJson, type StrictJson } from './requests/strict-json.ts'
export { type RtCode, rtCodes } from './rt-family/rt-codes.ts'
export { rtOpenApiDocument } from './rt-family/rt-document.ts'
export type { RtEsim } from './rt-family/rt-esims.ts'
export {
  EVENT_FORMATS,
  type EventFormat,
  RT_EVENT_TYPES,
  type RtContent,
  type RtNotifyType,
} from './rt-family/rt-events.ts'
export { RT_ALIASES, RT_API_PATH, RT_PREFIXES, type RtOperationName, rtOperations } from './rt-family/rt-operations.ts'
export type { RtPackage } from './rt-family/rt-packages.ts'
export { rtTime } from './rt-family/rt-scalars.ts'
export * from './schemas/accounts.ts'
export * from './schemas/actions.ts'
export * from './schemas/books.ts'
export * from './schemas/devices.ts'
export * from './schemas/enumerations.ts'
export * from './schemas/locations.ts'
export * from './schemas/operations.ts'
export * from './schemas/orders.ts'
export * from './schemas/packages.ts'
export * from './schemas/profiles.ts'
export * from './schemas/sends.ts'
export * from './schemas/test-operations.ts'
export * from './schemas/webhooks.ts'
export {
  EVENT_HEADERS,
  type EventHeaders,
  type EventParts,
  type EventRefusal,
  type EventVerdict,
  signEvent,
  verifyEvent,
  webhookSecret,
} from './signing/event-signing.ts'
export {
  findSigningMistake,
  type MismatchedRequest,
  type MistakeId,
  type SigningMistake,
  UNEXPLAINED_MISMATCH,
} from './signing/mistakes.ts'
export * from './signing/request-headers.ts'
export { type Body, signRequest, stringToSign, verifyRequest } from './signing/request-signing.ts'
export { TEXT_PATTERNS } from './text-patterns.ts'
export * from './times.ts'
export * from './volume.ts'

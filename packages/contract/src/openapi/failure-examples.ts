import type { CodeData, FailureCode } from '#codes/codes.ts'
import type { FaultDetail } from '#codes/envelope.ts'

/** The details and data of failures that have any. */
export const failureExamples: { [C in FailureCode]?: { details?: FaultDetail[]; data?: CodeData<C> } } = {
  '000101': { details: [{ field: 'X-Signature', reason: 'Missing: send the HMAC-SHA256 as 64 hex digits.' }] },
  '000102': {
    details: [
      { field: 'RT-Timestamp', reason: 'Malformed: send the time in milliseconds, exactly 13 digits, and only once.' },
    ],
  },
  '000104': { details: [{ field: 'body', reason: 'A member appears twice in one object: send each once.' }] },
  '000105': { details: [{ field: 'transactionId', reason: 'It is required: add it.' }] },
  '000106': {
    details: [{ field: 'packageInfoList[0].count', reason: 'It is required: send a value instead of null.' }],
  },
  '000107': { details: [{ field: 'transactionId', reason: 'Use 1 to 64 characters.' }] },
  '000108': { details: [{ field: 'packageInfoList[0].count', reason: 'Send an integer from 1 to 30.' }] },
  '101001': { data: { serverTime: '2026-11-20T13:28:09.000Z' } },
  '101002': { data: { address: '203.0.113.7' } },
  '101009': { data: { operation: 'esim/order' } },
  '200002': {
    data: {
      esimStatus: 'IN_USE',
      smdpStatus: 'ENABLED',
      suspended: false,
      actionNo: '06EQ7X4N0P2S9D8F1G3H5J7K6M',
      orderNo: null,
    },
  },
  '200005': {
    details: [{ field: 'packageInfoList[0].price', reason: 'The price of JP_1_7 is 47000 now.' }],
    data: { current: 47_000 },
  },
  '200006': { details: [{ field: 'amount', reason: 'The total is 47000 now.' }], data: { current: 47_000 } },
  '200007': { data: { currentBalance: 30_000, requiredAmount: 45_000, shortfall: 15_000, currencyCode: 'USD' } },
  '200014': {
    data: { scope: 'TENANT_DAY', limit: 1_000_000, spent: 980_000, resetTime: '2026-11-21T00:00:00.000Z' },
  },
  '200015': { data: { action: 'SUSPEND' } },
  '200017': { data: { cancellableUntil: '2026-12-20T13:28:10.000Z' } },
  '200018': { data: { brand: 'harbour' } },
  '310241': { details: [{ field: 'packageInfoList[0].packageCode', reason: 'There is no package JP_9_9.' }] },
  '310244': { details: [{ field: 'packageInfoList[0].packageCode', reason: 'JP_1_7 is off sale.' }] },
  '400102': {
    details: [{ field: 'callbackUrl', reason: 'The health check failed: status 404. It said: “no such handler”' }],
  },
}

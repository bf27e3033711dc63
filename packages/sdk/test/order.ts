/** An answer of `esim/order`. */
export const ORDER = {
  orderNo: 'O1',
  transactionId: 'T-1',
  orderStatus: 'PAID',
  amount: 45_000,
  currencyCode: 'USD',
  balanceAfter: 12_300_600,
  createTime: '2026-11-20T13:28:09.000Z',
}

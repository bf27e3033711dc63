import { digits, either, integer, list, object, oneOf, optional, optionalOrEmpty, text } from '#shape.ts'

/* Requests of the RT family. Optional members may be null or empty, which real programs send. */

const maybeText = optionalOrEmpty(text())
const maybeInteger = optionalOrEmpty(integer())

export const NOTHING = object({})

export const PACKAGE_LIST = object({
  locationCode: maybeText,
  type: optionalOrEmpty(oneOf('BASE', 'TOPUP')),
  packageCode: maybeText,
  slug: maybeText,
  iccid: maybeText,
})

export const ORDER = object({
  transactionId: text({ max: 50 }),
  amount: maybeInteger,
  packageInfoList: list(
    object({
      packageCode: maybeText,
      slug: maybeText,
      count: integer({ min: 1, max: 30 }),
      price: maybeInteger,
      periodNum: optionalOrEmpty(integer({ min: 1, max: 365 })),
    }),
    { max: 30 },
  ),
})

export const QUERY = object({
  orderNo: maybeText,
  iccid: maybeText,
  esimTranNo: maybeText,
  startTime: maybeText,
  endTime: maybeText,
  pager: object({ pageNum: integer({ min: 1 }), pageSize: integer({ min: 5, max: 500 }) }),
})

export const ONE_ESIM = object({ iccid: maybeText, esimTranNo: maybeText })

export const TOP_UP = object({
  iccid: maybeText,
  esimTranNo: maybeText,
  packageCode: maybeText,
  slug: maybeText,
  transactionId: text({ max: 50 }),
  periodNum: optionalOrEmpty(either(integer({ min: 1, max: 365 }), digits({ min: 1, max: 365 }))),
  amount: maybeInteger,
})

export const USAGE = object({ esimTranNoList: list(text(), { max: 10 }) })

export const SMS = object({ iccid: maybeText, esimTranNo: maybeText, message: text({ max: 500 }) })

export const WEBHOOK = object({ webhook: optional(text()) })

import Type, { type Static } from 'typebox'
import { ESIM_STATUSES, SMDP_STATUSES } from '#schemas/enumerations.ts'
import { nullable } from '#schemas/scalars.ts'
import { rtActiveType, rtDataType, rtSmsStatus, rtSupportTopUpType } from './rt-packages.ts'
import { numberOrText, optionalText, rtQuantity, rtTimeText, WHOLE } from './rt-scalars.ts'

const key = (without: string) => optionalText(`Any text. The same text is the same request; without one, ${without}.`)
const guard = (of: string) => numberOrText(`A guard: the request is refused if the ${of} differs. 0 means no guard.`)
const days = () => numberOrText('Days of a day pass.')
const packageName = {
  packageCode: optionalText('A packageCode, or a slug.'),
  slug: optionalText('In place of packageCode.'),
}

/** Either identifies an eSIM of the tenant. */
const esimName = {
  esimTranNo: optionalText('The eSIM. Send it or iccid.'),
  iccid: optionalText('Of several eSIMs with one ICCID, the newest.'),
}

export const rtOrderRequest = Type.Object({
  transactionId: key('each order is a new one'),
  amount: guard('total'),
  packageInfoList: Type.Array(
    Type.Object({
      ...packageName,
      count: Type.Union([Type.Integer({ minimum: 1 }), Type.String({ pattern: WHOLE })]),
      price: guard('price'),
      periodNum: days(),
    }),
    { minItems: 1 },
  ),
})
export const rtOrderAnswer = Type.Object({ orderNo: Type.String(), transactionId: Type.String() })

export const rtQueryRequest = Type.Object({
  orderNo: optionalText('An order.'),
  transactionId: optionalText('An order, as it was sent with it.'),
  iccid: optionalText('Of several eSIMs with one ICCID, the newest is the first.'),
  esimTranNo: optionalText('One eSIM.'),
  startTime: optionalText('Inclusive, such as 2026-11-20T13:28:09+0000.'),
  endTime: optionalText('Exclusive.'),
  pager: Type.Optional(
    Type.Object({
      pageNum: Type.Optional(Type.Integer({ minimum: 1, default: 1 })),
      pageSize: Type.Optional(Type.Integer({ minimum: 1, maximum: 500, default: 500 })),
    }),
  ),
})

const rtEsim = Type.Object({
  esimTranNo: Type.String(),
  orderNo: Type.String(),
  transactionId: Type.String({ description: 'As sent with the order.' }),
  imsi: nullable(Type.String()),
  iccid: Type.String(),
  smsStatus: rtSmsStatus(),
  msisdn: nullable(Type.String()),
  ac: Type.String({ description: 'The activation code.' }),
  confirmationCode: Type.Optional(
    Type.String({ description: 'The phone asks for it. Absent if it asks for none. Not a member of the family.' }),
  ),
  qrCodeUrl: Type.String({ description: 'A picture of the activation code.' }),
  shortUrl: Type.String({ description: 'A page for the traveller.' }),
  smdpStatus: Type.Enum(SMDP_STATUSES),
  eid: nullable(Type.String()),
  activeType: rtActiveType(),
  dataType: rtDataType(),
  activateTime: nullable(rtTimeText()),
  expiredTime: nullable(rtTimeText({ description: 'Before it is in use: the time by which it must first be used.' })),
  installationTime: nullable(rtTimeText({ description: 'Null if the supplier does not report it.' })),
  totalVolume: rtQuantity({ description: 'Bytes; 0 is unlimited.' }),
  totalDuration: rtQuantity(),
  durationUnit: Type.Enum(['DAY']),
  orderUsage: rtQuantity({ description: 'Bytes used.' }),
  esimStatus: Type.Enum(ESIM_STATUSES),
  pin: nullable(Type.String()),
  puk: nullable(Type.String()),
  apn: Type.String(),
  ipExport: Type.String({ description: 'Always empty.' }),
  supportTopUpType: rtSupportTopUpType(),
  fupPolicy: Type.String(),
  packageList: Type.Array(
    Type.Object({
      packageName: Type.String(),
      packageCode: Type.String(),
      slug: Type.String(),
      duration: rtQuantity(),
      volume: rtQuantity(),
      locationCode: Type.String(),
      createTime: rtTimeText(),
      esimTranNo: Type.String(),
      transactionId: Type.String(),
    }),
  ),
})
export type RtEsim = Static<typeof rtEsim>

export const rtQueryAnswer = Type.Object({
  esimList: Type.Array(rtEsim),
  pager: Type.Object({ pageSize: Type.Integer(), pageNum: Type.Integer(), total: rtQuantity() }),
})

export const rtTopupRequest = Type.Object({
  ...esimName,
  packageCode: optionalText(
    'A packageCode or slug: of a TOPUP package, or of a BASE package with its volume and days.',
  ),
  slug: optionalText('In place of packageCode. With periodNum both may be absent: the eSIM’s own day pass is meant.'),
  transactionId: key('a call repeats an earlier one whose final result has not been returned yet'),
  amount: guard('total'),
  price: guard('price'),
  periodNum: days(),
})
export const rtTopupAnswer = Type.Object({
  transactionId: Type.String(),
  topUpEsimTranNo: Type.String({ description: 'The eSIM that was topped up.' }),
  iccid: Type.String(),
  expiredTime: nullable(rtTimeText()),
  totalVolume: rtQuantity(),
  totalDuration: rtQuantity(),
  orderUsage: rtQuantity(),
})

export const rtActionRequest = Type.Object(esimName)
export const rtSmsRequest = Type.Object({ ...esimName, message: Type.String({ maxLength: 500 }) })

export const rtUsageRequest = Type.Object({ esimTranNoList: Type.Array(Type.String(), { minItems: 1, maxItems: 100 }) })
export const rtUsageAnswer = Type.Object({
  esimUsageList: Type.Array(
    Type.Object({
      esimTranNo: Type.String(),
      dataUsage: rtQuantity({ description: 'Bytes used.' }),
      totalData: rtQuantity({ description: 'Bytes; 0 is unlimited.' }),
      lastUpdateTime: nullable(rtTimeText()),
    }),
  ),
})

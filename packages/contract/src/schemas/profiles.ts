import Type, { type Static } from 'typebox'
import { USAGE_QUERY_ESIMS_MAX } from '#limits.ts'
import { DURATION_UNITS, ESIM_STATUSES, SMDP_STATUSES } from './enumerations.ts'
import {
  CLOSED,
  cursor,
  iccid,
  name,
  nextCursor,
  nullable,
  pageSize,
  quantity,
  time,
  transactionId,
  transactionIdOfOrder,
} from './scalars.ts'

export const profileListRequest = Type.Object(
  {
    orderNo: Type.Optional(name()),
    transactionId: Type.Optional(transactionId()),
    esimTranNo: Type.Optional(name({ description: 'Only this eSIM.' })),
    iccid: Type.Optional(iccid()),
    esimStatus: Type.Optional(Type.Enum(ESIM_STATUSES)),
    smdpStatus: Type.Optional(Type.Enum(SMDP_STATUSES)),
    startTime: Type.Optional(time({ description: 'Created at this time or later' })),
    endTime: Type.Optional(time({ description: 'Created before this time' })),
    pageSize: Type.Optional(pageSize()),
    cursor: Type.Optional(cursor()),
  },
  CLOSED,
)
export type ProfileListRequest = Static<typeof profileListRequest>

export const profile = Type.Object({
  esimTranNo: Type.String({ description: 'The unique key of the eSIM: suppliers reuse ICCIDs.' }),
  orderNo: Type.String(),
  transactionId: transactionIdOfOrder(),
  packageCode: Type.String(),
  packageName: Type.String(),
  iccid: Type.String({ examples: ['8985200012345678903'] }),
  imsi: nullable(Type.String()),
  msisdn: nullable(Type.String()),
  eid: nullable(Type.String({ description: 'The chip that the profile was installed on.' })),
  ac: Type.String({
    description: 'The activation code. Keep it secret: anybody who has it can install the eSIM.',
    examples: ['LPA:1$smdp.example.com$MATCHING-ID'],
  }),
  smdpAddress: Type.String(),
  matchingId: Type.String(),
  confirmationCode: nullable(Type.String({ description: 'If not null, the device asks for it at installation.' })),
  pin: nullable(Type.String()),
  puk: nullable(Type.String()),
  qrCodeUrl: Type.String({ format: 'uri', description: 'Shows the QR code until the profile is installed.' }),
  appleInstallUrl: Type.String({ format: 'uri', description: 'Opens the installation on iOS 17.4 and later.' }),
  androidInstallUrl: Type.String({ format: 'uri', description: 'Opens the installation on Android.' }),
  shareUrl: nullable(
    Type.String({
      format: 'uri',
      description:
        "The traveller's page of this eSIM: installation, then status and usage. Null once it is cancelled or revoked.",
    }),
  ),
  apn: nullable(Type.String()),
  esimStatus: Type.Enum(ESIM_STATUSES),
  smdpStatus: nullable(Type.Enum(SMDP_STATUSES)),
  totalVolume: nullable(quantity({ description: 'Bytes; null when unlimited.' })),
  orderUsage: nullable(quantity({ description: 'Bytes used; null when the supplier does not report it.' })),
  usageUpdateTime: nullable(time()),
  totalDuration: quantity({ description: 'In `durationUnit`.' }),
  durationUnit: Type.Enum(DURATION_UNITS),
  installBefore: nullable(time()),
  activateTime: nullable(time()),
  expiredTime: nullable(time()),
  suspended: Type.Boolean({ description: 'True while the line is suspended.' }),
  createTime: time(),
  lastUpdateTime: time(),
})
export type Profile = Static<typeof profile>

export const profileListAnswer = Type.Object({ profileList: Type.Array(profile), nextCursor: nextCursor() })
export type ProfileListAnswer = Static<typeof profileListAnswer>

export const usageQueryRequest = Type.Object(
  { esimTranNoList: Type.Array(name(), { minItems: 1, maxItems: USAGE_QUERY_ESIMS_MAX }) },
  CLOSED,
)
export type UsageQueryRequest = Static<typeof usageQueryRequest>

export const esimUsage = Type.Object({
  esimTranNo: Type.String(),
  iccid: Type.String(),
  totalVolume: nullable(quantity({ description: 'Bytes; null when unlimited.' })),
  orderUsage: nullable(quantity({ description: 'Bytes used; null when the supplier does not report it.' })),
  remaining: nullable(quantity({ description: 'Bytes left; null if the volume is unlimited or the usage unknown.' })),
  usageUpdateTime: nullable(time()),
  expiredTime: nullable(time()),
  esimStatus: Type.Enum(ESIM_STATUSES),
  suspended: Type.Boolean(),
})
export type EsimUsage = Static<typeof esimUsage>

export const usageQueryAnswer = Type.Object({
  esimUsageList: Type.Array(esimUsage, { description: 'In the order of the request.' }),
  notFound: Type.Array(Type.String(), { description: 'Those of the request that are not eSIMs of this tenant.' }),
})
export type UsageQueryAnswer = Static<typeof usageQueryAnswer>

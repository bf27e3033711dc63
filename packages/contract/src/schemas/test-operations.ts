import Type, { type Static } from 'typebox'
import { CLOCK_ADVANCE_MAX_HOURS, USED_PERCENT_MAX } from '#limits.ts'
import { SMDP_STATUSES, TEST_OUTCOMES } from './enumerations.ts'
import { CLOSED, iccid, money, name, quantity, time } from './scalars.ts'

/** The operations under this prefix are answered with 000109 unless the tenant is for tests. */
export const TEST_OPERATION_PREFIX = 'test/'

export const testBalanceRequest = Type.Object(
  { balance: money({ description: 'The balance afterwards. The difference is posted as an ADJUSTMENT' }) },
  CLOSED,
)
export type TestBalanceRequest = Static<typeof testBalanceRequest>

export const testEsimRequest = Type.Object(
  {
    esimTranNo: Type.Optional(name({ description: 'Either `esimTranNo` or `iccid` is required.' })),
    iccid: Type.Optional(iccid({ description: 'Of several eSIMs with this ICCID, the newest is meant.' })),
    smdpStatus: Type.Optional(Type.Enum(SMDP_STATUSES)),
    orderUsage: Type.Optional(quantity({ description: 'Bytes used.' })),
    usedPercent: Type.Optional(
      Type.Integer({
        minimum: 0,
        maximum: USED_PERCENT_MAX,
        description: 'The usage as a percentage of `totalVolume`, rounded up to bytes; instead of `orderUsage`.',
      }),
    ),
  },
  CLOSED,
)
export type TestEsimRequest = Static<typeof testEsimRequest>

export const testClockRequest = Type.Object(
  {
    hours: Type.Integer({ minimum: 1, maximum: CLOCK_ADVANCE_MAX_HOURS }),
    fromTime: Type.Optional(
      time({
        description:
          '`testTime` of the last answer. If the clock has been advanced since, nothing happens (200005): a repeated call never moves twice. Before the first advance: the present time, within an hour.',
      }),
    ),
  },
  CLOSED,
)
export type TestClockRequest = Static<typeof testClockRequest>

export const testClockAnswer = Type.Object({
  testTime: time({ description: 'The test time at the end of the advance. It goes on as the real time does' }),
  advancedHours: quantity(),
  changedEsims: quantity({ description: 'eSIMs that the time has changed.' }),
})
export type TestClockAnswer = Static<typeof testClockAnswer>

export const testOrderRequest = Type.Object(
  { orderNo: name(), outcome: Type.Enum(TEST_OUTCOMES, { description: 'What the supplier says at last.' }) },
  CLOSED,
)
export type TestOrderRequest = Static<typeof testOrderRequest>

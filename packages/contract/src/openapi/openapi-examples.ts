import type { BalanceAnswer } from '#schemas/accounts.ts'
import type { ActionAnswer } from '#schemas/actions.ts'
import type { AnswerOf, OperationName, RequestOf } from '#schemas/operations.ts'
import type { OrderSummary, QueryAnswer } from '#schemas/orders.ts'
import type { Profile } from '#schemas/profiles.ts'
import type { Notification, NotifyType } from '#schemas/webhooks.ts'
import { bookAnswers, bookRequests } from './book-examples.ts'

/** The documentation's examples: one purchase, from the first call to its last event. Tests check them against the schemas. */
export const EXAMPLE_REQUEST_ID = '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11'

const ac = 'LPA:1$smdp.example.com$K2-9XQ4TJ-1YB7PD'

const profile: Profile = {
  esimTranNo: '06EQ7X1KCM0RB8Q2N5T3W9Z4GA',
  orderNo: '06EQ7X1JZ8YV3M6D0S4R7T2WQC',
  transactionId: 'T-1',
  packageCode: 'JP_1_7',
  packageName: 'Japan 1 GB 7 days',
  iccid: '8985200012345678904',
  imsi: null,
  msisdn: null,
  eid: null,
  ac,
  smdpAddress: 'smdp.example.com',
  matchingId: 'K2-9XQ4TJ-1YB7PD',
  confirmationCode: null,
  pin: null,
  puk: null,
  qrCodeUrl: 'https://esim.example.com/qr/4mD0pJvXo2yq8dQe5sZrYw',
  appleInstallUrl:
    'https://esimsetup.apple.com/esim_qrcode_provisioning?carddata=LPA%3A1%24smdp.example.com%24K2-9XQ4TJ-1YB7PD',
  androidInstallUrl:
    'https://esimsetup.android.com/esim_qrcode_provisioning?carddata=LPA%3A1%24smdp.example.com%24K2-9XQ4TJ-1YB7PD',
  shareUrl: 'https://esim.example.com/esim/9fT2kLxQwB7sVcYd3ZrHnA',
  apn: 'internet',
  esimStatus: 'GOT_RESOURCE',
  smdpStatus: 'RELEASED',
  totalVolume: 1_073_741_824,
  orderUsage: null,
  usageUpdateTime: null,
  totalDuration: 7,
  durationUnit: 'DAY',
  installBefore: '2027-05-19T13:28:10.000Z',
  activateTime: null,
  expiredTime: null,
  suspended: false,
  createTime: '2026-11-20T13:28:10.000Z',
  lastUpdateTime: '2026-11-20T13:28:10.000Z',
}

export const requestExamples: { [N in OperationName]: RequestOf<N> } = {
  health: {},
  'account/balance': {},
  'package/list': { locationCode: 'JP', pageSize: 100 },
  'esim/order': {
    transactionId: 'T-1',
    packageInfoList: [{ packageCode: 'JP_1_7', count: 1, price: 45_000 }],
    amount: 45_000,
  },
  'esim/query': { transactionId: 'T-1' },
  'esim/profile/list': { orderNo: profile.orderNo },
  'esim/topup': { transactionId: 'T-2', esimTranNo: profile.esimTranNo, packageCode: 'JP_1_7_TOPUP', price: 40_000 },
  'esim/profile/send': { transactionId: 'M-1', esimTranNo: profile.esimTranNo, email: 'traveller@example.com' },
  'brand/list': {},
  'esim/cancel': { transactionId: 'C-1', action: 'CANCEL', esimTranNo: profile.esimTranNo, reason: 'trip cancelled' },
  'esim/suspend': { transactionId: 'S-1', action: 'SUSPEND', esimTranNo: profile.esimTranNo },
  'esim/unsuspend': { transactionId: 'U-1', action: 'UNSUSPEND', esimTranNo: profile.esimTranNo },
  'esim/revoke': { transactionId: 'R-1', action: 'REVOKE', esimTranNo: profile.esimTranNo, reason: 'phone lost' },
  'esim/action/query': { transactionId: 'C-1' },
  'webhook/set': { callbackUrl: 'https://dealer.example.com/esim-events', enabled: true },
  'webhook/test': { notifyType: 'ORDER_PAID' },
  'order/list': { orderStatus: 'DELIVERED', pageSize: 100 },
  'account/statement': { startTime: '2026-11-01T00:00:00.000Z', endTime: '2026-12-01T00:00:00.000Z' },
  ...bookRequests,
  'location/list': { language: 'de' },
  'device/list': { brand: 'Google', keyword: 'pixel 8' },
  'esim/usage/query': { esimTranNoList: [profile.esimTranNo] },
  'test/balance/set': { balance: 100_000 },
  'test/esim/update': { esimTranNo: profile.esimTranNo, smdpStatus: 'ENABLED', usedPercent: 80 },
  'test/clock/advance': { hours: 24, fromTime: '2026-11-20T13:28:10.000Z' },
  'test/order/resolve': { orderNo: profile.orderNo, outcome: 'DELIVERED' },
}

const order: OrderSummary = {
  orderNo: profile.orderNo,
  transactionId: 'T-1',
  orderType: 'NEW',
  orderStatus: 'DELIVERED',
  amount: 45_000,
  refundedAmount: 0,
  currencyCode: 'USD',
  remark: null,
  esimTranNo: null,
  keyLabel: null,
  createTime: '2026-11-20T13:28:09.000Z',
  lastUpdateTime: '2026-11-20T13:28:10.000Z',
  packageInfoList: [
    {
      packageCode: 'JP_1_7',
      packageName: 'Japan 1 GB 7 days',
      count: 1,
      price: 45_000,
      periodNum: null,
      deliveredCount: 1,
      failedCount: 0,
      failureReason: null,
    },
  ],
}

const action: ActionAnswer = {
  actionNo: '06EQ7X4N0P2S9D8F1G3H5J7K6M',
  transactionId: 'C-1',
  startedBy: 'DEALER',
  action: 'CANCEL',
  esimTranNo: profile.esimTranNo,
  iccid: profile.iccid,
  orderNo: profile.orderNo,
  actionStatus: 'DONE',
  refundAmount: 45_000,
  feeAmount: 0,
  currencyCode: 'USD',
  failureReason: null,
  keyLabel: null,
  createTime: '2026-11-20T13:40:00.000Z',
  lastUpdateTime: '2026-11-20T13:40:02.000Z',
}

/** The first answer to the action: its supplier has not been asked yet. */
const pending: ActionAnswer = {
  ...action,
  actionStatus: 'PENDING',
  refundAmount: 0,
  lastUpdateTime: action.createTime,
}

const balance: BalanceAnswer = {
  balance: 10_000_000,
  creditLimit: 0,
  availableBalance: 10_000_000,
  currencyCode: 'USD',
  lowBalanceThreshold: 500_000,
  lastUpdateTime: '2026-11-20T09:00:00.000Z',
}

const orderWithProfiles: QueryAnswer = {
  ...order,
  profileList: [profile],
  sendList: [],
  statusHistory: [
    { orderStatus: 'PAID', time: '2026-11-20T13:28:09.000Z' },
    { orderStatus: 'ALLOCATING', time: '2026-11-20T13:28:09.100Z' },
    { orderStatus: 'DELIVERED', time: '2026-11-20T13:28:10.000Z' },
  ],
}

export const answerExamples: { [N in OperationName]: AnswerOf<N> } = {
  health: {
    status: 'UP',
    mode: 'LIVE',
    tenantId: '01936b2e-7c10-7d4a-9f0e-5b8a2c6d1e34',
    clientName: 'Example Travel',
    keyLabel: null,
    keyLimits: null,
  },
  'account/balance': balance,
  'package/list': {
    packageList: [
      {
        packageCode: 'JP_1_7',
        slug: 'japan-1gb-7days',
        packageType: 'BASE',
        name: 'Japan 1 GB 7 days',
        description: null,
        price: 45_000,
        retailPrice: 69_000,
        currencyCode: 'USD',
        dataType: 'TOTAL',
        volume: 1_073_741_824,
        duration: 7,
        durationUnit: 'DAY',
        periodNumMin: null,
        periodNumMax: null,
        unusedValidTime: 180,
        activationPolicy: 'ON_FIRST_NETWORK',
        ekycRequired: false,
        locationCodes: ['JP'],
        locationNetworkList: [
          {
            locationCode: 'JP',
            locationName: 'Japan',
            operatorList: [{ operatorName: 'Example Mobile', networkType: '5G' }],
          },
        ],
        speed: '5G',
        fupPolicy: null,
        smsStatus: 0,
        topUpSupported: true,
        cancelPolicy: { cancellable: true, withinDays: 30, feePercent: 0 },
        status: 'ON_SALE',
        lastUpdateTime: '2026-11-01T00:00:00.000Z',
      },
    ],
    nextCursor: null,
    asOf: '2026-11-20T13:28:00.000Z',
  },
  'esim/order': {
    orderNo: profile.orderNo,
    transactionId: 'T-1',
    orderType: 'NEW',
    orderStatus: 'PAID',
    amount: 45_000,
    currencyCode: 'USD',
    balanceAfter: 9_955_000,
    createTime: '2026-11-20T13:28:09.000Z',
  },
  'esim/query': orderWithProfiles,
  'esim/profile/list': { profileList: [profile], nextCursor: null },
  'esim/topup': {
    ...{ orderNo: '06EQ7X6T0R2S9D8F1G3H5J7K6M', transactionId: 'T-2', orderType: 'TOPUP', orderStatus: 'PAID' },
    ...{ esimTranNo: profile.esimTranNo, amount: 40_000, currencyCode: 'USD', balanceAfter: 9_915_000 },
    createTime: '2026-11-22T08:15:00.000Z',
  },
  'esim/profile/send': {
    ...{ sendNo: '06EQ7X4N0T2S9D8F1G3H5J7K6M', transactionId: 'M-1', esimTranNo: profile.esimTranNo },
    ...{ sendStatus: 'QUEUED', createTime: pending.createTime, lastUpdateTime: pending.createTime },
  },
  'brand/list': { brandList: [{ brand: 'lotus', name: 'Lotus Travel', isDefault: true }] },
  'esim/cancel': pending,
  'esim/suspend': { ...pending, actionNo: '06EQ7X4N0Q2S9D8F1G3H5J7K6M', transactionId: 'S-1', action: 'SUSPEND' },
  'esim/unsuspend': { ...pending, actionNo: '06EQ7X4N0R2S9D8F1G3H5J7K6M', transactionId: 'U-1', action: 'UNSUSPEND' },
  'esim/revoke': { ...pending, actionNo: '06EQ7X4N0S2S9D8F1G3H5J7K6M', transactionId: 'R-1', action: 'REVOKE' },
  'esim/action/query': action,
  'webhook/set': {
    callbackUrl: 'https://dealer.example.com/esim-events',
    eventTypes: ['ORDER_PAID', 'DELIVERY_UPDATED'],
    enabled: true,
    usageThresholds: [50, 80, 100],
    expiryNoticeHours: [24, 72],
    lastUpdateTime: '2026-11-20T13:30:00.000Z',
  },
  'webhook/test': { acknowledged: true, httpStatus: 204, durationMs: 84, failure: null },
  'order/list': { orderList: [order], nextCursor: null },
  'account/statement': {
    entryList: [
      {
        entryNo: '2',
        kind: 'ORDER',
        amount: -45_000,
        balanceAfter: 9_955_000,
        currencyCode: 'USD',
        orderNo: profile.orderNo,
        transactionId: 'T-1',
        esimTranNo: null,
        actionNo: null,
        reference: null,
        keyLabel: null,
        createTime: '2026-11-20T13:28:09.000Z',
      },
    ],
    nextCursor: null,
  },
  ...bookAnswers,
  'device/list': {
    deviceList: [{ brand: 'Google', model: 'Pixel 8', since: 2023, note: null }],
    ...{ nextCursor: null, asOf: '2026-11-29' },
  },
  'location/list': {
    locationList: [
      { locationCode: 'JP', name: 'Japan', type: 'COUNTRY', subLocationCodes: [] },
      { locationCode: '!RG', name: 'Regional', type: 'REGION', subLocationCodes: ['JP', 'KR'] },
    ],
  },
  'esim/usage/query': {
    esimUsageList: [
      {
        esimTranNo: profile.esimTranNo,
        iccid: profile.iccid,
        totalVolume: 1_073_741_824,
        orderUsage: 536_870_912,
        remaining: 536_870_912,
        usageUpdateTime: '2026-11-22T08:00:00.000Z',
        expiredTime: '2026-11-28T09:12:00.000Z',
        esimStatus: 'IN_USE',
        suspended: false,
      },
    ],
    notFound: [],
  },
  'test/balance/set': { ...balance, balance: 100_000, availableBalance: 100_000 },
  'test/esim/update': {
    ...profile,
    ...{ esimStatus: 'IN_USE', smdpStatus: 'ENABLED', orderUsage: 858_993_460 },
    ...{ usageUpdateTime: '2026-11-22T08:00:00.000Z', activateTime: '2026-11-22T08:00:00.000Z' },
    ...{ expiredTime: '2026-11-29T08:00:00.000Z', lastUpdateTime: '2026-11-22T08:00:00.000Z' },
  },
  'test/clock/advance': { testTime: '2026-11-21T13:28:10.000Z', advancedHours: 24, changedEsims: 1 },
  'test/order/resolve': orderWithProfiles,
}

export const eventExamples: { [T in NotifyType]: Extract<Notification, { notifyType: T }> } = {
  ORDER_PAID: {
    notifyId: '0193f3a4-9c1e-7b60-8a53-0d5c1f7e2b90',
    notifyType: 'ORDER_PAID',
    eventGenerateTime: '2026-11-20T13:28:09.000Z',
    content: {
      orderNo: profile.orderNo,
      transactionId: 'T-1',
      orderType: 'NEW',
      esimTranNo: null,
      orderStatus: 'PAID',
      sequence: 1,
      amount: 45_000,
      currencyCode: 'USD',
      balanceAfter: 9_955_000,
      entryNo: '2',
      packageInfoList: [
        { packageCode: 'JP_1_7', packageName: 'Japan 1 GB 7 days', count: 1, price: 45_000, periodNum: null },
      ],
    },
  },
  DELIVERY_UPDATED: {
    notifyId: '0193f3a4-9f8c-7a11-b3d7-6e4f0a9c2d58',
    notifyType: 'DELIVERY_UPDATED',
    eventGenerateTime: '2026-11-20T13:28:10.000Z',
    content: {
      orderNo: profile.orderNo,
      transactionId: 'T-1',
      orderType: 'NEW',
      esimTranNo: null,
      orderStatus: 'DELIVERED',
      sequence: 3,
      refundedAmount: 0,
      profiles: [
        { esimTranNo: profile.esimTranNo, iccid: profile.iccid, esimStatus: 'GOT_RESOURCE', smdpStatus: 'RELEASED' },
      ],
    },
  },
  ESIM_USAGE: {
    notifyId: '0193fd00-2b11-7c20-9d31-4a6e8b0c1d22',
    notifyType: 'ESIM_USAGE',
    eventGenerateTime: '2026-11-22T08:00:05.000Z',
    content: {
      orderNo: profile.orderNo,
      transactionId: 'T-1',
      esimTranNo: profile.esimTranNo,
      iccid: profile.iccid,
      sequence: 1,
      totalVolume: 1_073_741_824,
      orderUsage: 536_870_912,
      remaining: 536_870_912,
      threshold: 50,
      usageUpdateTime: '2026-11-22T08:00:00.000Z',
    },
  },
  ESIM_EXPIRING: {
    notifyId: '01940290-77aa-7f10-8c42-5b7f9c1d2e33',
    notifyType: 'ESIM_EXPIRING',
    eventGenerateTime: '2026-11-25T09:12:01.000Z',
    content: {
      orderNo: profile.orderNo,
      transactionId: 'T-1',
      esimTranNo: profile.esimTranNo,
      iccid: profile.iccid,
      sequence: 1,
      expiredTime: '2026-11-28T09:12:00.000Z',
      hours: 72,
    },
  },
  ESIM_ACTION_UPDATED: {
    notifyId: '0193f3b0-51c2-7a90-b64d-6c80ad2e3f44',
    notifyType: 'ESIM_ACTION_UPDATED',
    eventGenerateTime: '2026-11-20T13:40:02.000Z',
    content: action,
  },
  BALANCE_LOW: {
    notifyId: '0193f3c1-0e53-7bd0-a75e-7d91be3f4055',
    notifyType: 'BALANCE_LOW',
    eventGenerateTime: '2026-11-20T14:00:00.000Z',
    content: {
      balance: 370_000,
      availableBalance: 370_000,
      lowBalanceThreshold: 500_000,
      percent: 75,
      currencyCode: 'USD',
      lastUpdateTime: '2026-11-20T14:00:00.000Z',
    },
  },
  CHECK_HEALTH: {
    notifyId: '0193f3a6-1d02-7c3e-9a45-8b7f6e5d4c3b',
    notifyType: 'CHECK_HEALTH',
    eventGenerateTime: '2026-11-20T13:30:00.000Z',
    content: {},
  },
}

import type { RtNotifyType } from './rt-events.ts'
import type { RtOperationName } from './rt-operations.ts'

const iccid = '8985200012345678904'
const esimTranNo = '01939ab2-9c11-7d20-8a34-5b6c7d8e9f01'
const orderNo = '06EQ7X1JZ8YV3M6D0S4R7T2WQC'
const time = '2026-11-20T13:28:09+0000'
const esimName = { orderNo, transactionId: 'T-1', esimTranNo, iccid }
const statuses = { esimStatus: 'IN_USE', smdpStatus: 'ENABLED' }

const japan = {
  packageCode: 'JP_1_7',
  slug: 'japan-1gb-7d',
  name: 'Japan 1 GB 7 days',
  price: 45_000,
  retailPrice: 69_000,
  currencyCode: 'USD',
  volume: 1_073_741_824,
  smsStatus: 0,
  dataType: 1,
  unusedValidTime: 180,
  duration: 7,
  durationUnit: 'DAY',
  location: 'JP',
  locationCode: 'JP',
  description: 'Japan 1 GB 7 days',
  activeType: 2,
  favorite: false,
  speed: '4G/5G',
  ipExport: '',
  supportTopUpType: 2,
  fupPolicy: '',
  locationNetworkList: [
    {
      locationName: 'Japan',
      locationLogo: '',
      locationCode: 'JP',
      operatorList: [{ operatorName: 'SoftBank', networkType: '5G' }],
    },
  ],
}

const esim = {
  ...esimName,
  imsi: null,
  smsStatus: 0,
  msisdn: null,
  ac: 'LPA:1$smdp.example.com$K2-9XQ4TJ-1YB7PD',
  qrCodeUrl: 'https://esim.example.com/qr/4mD0pJvXo2yq8dQe5sZrYw',
  shortUrl: 'https://esim.example.com/esim/9fT2kLxQwB7sVcYd3ZrHnA',
  smdpStatus: 'RELEASED',
  eid: null,
  activeType: 2,
  dataType: 1,
  activateTime: null,
  expiredTime: '2027-05-19T13:28:10+0000',
  installationTime: null,
  totalVolume: 1_073_741_824,
  totalDuration: 7,
  durationUnit: 'DAY',
  orderUsage: 0,
  esimStatus: 'GOT_RESOURCE',
  pin: null,
  puk: null,
  apn: 'internet',
  ipExport: '',
  supportTopUpType: 2,
  fupPolicy: '',
  packageList: [
    {
      packageName: 'Japan 1 GB 7 days',
      packageCode: 'JP_1_7',
      slug: 'japan-1gb-7d',
      duration: 7,
      volume: 1_073_741_824,
      locationCode: 'JP',
      createTime: time,
      esimTranNo,
      transactionId: 'T-1',
    },
  ],
}

/** Requests and answers of each operation. Tests check them against the schemas. */
export const rtExamples: { [Name in RtOperationName]: { request: object; obj: object } } = {
  'balance/query': { request: {}, obj: { balance: 1_250_000, lastUpdateTime: time } },
  'location/list': {
    request: {},
    obj: { locationList: [{ code: 'JP', name: 'Japan', type: 1, subLocationList: [] }] },
  },
  'package/list': { request: { locationCode: 'JP', type: 'BASE' }, obj: { packageList: [japan] } },
  'esim/order': {
    request: { transactionId: 'T-1', packageInfoList: [{ packageCode: 'JP_1_7', count: 1, price: 45_000 }] },
    obj: { orderNo, transactionId: 'T-1' },
  },
  'esim/query': {
    request: { orderNo, pager: { pageNum: 1, pageSize: 50 } },
    obj: { esimList: [esim], pager: { pageSize: 50, pageNum: 1, total: 1 } },
  },
  'esim/topup': {
    request: { esimTranNo, packageCode: 'JP_1_7_TOPUP', transactionId: 'T-2' },
    obj: {
      ...{ transactionId: 'T-2', topUpEsimTranNo: esimTranNo, iccid, expiredTime: time, totalVolume: 2_147_483_648 },
      ...{ totalDuration: 14, orderUsage: 869_730_877 },
    },
  },
  'esim/cancel': { request: { esimTranNo }, obj: {} },
  'esim/suspend': { request: { iccid }, obj: {} },
  'esim/unsuspend': { request: { iccid }, obj: {} },
  'esim/revoke': { request: { esimTranNo }, obj: {} },
  'esim/usage/query': {
    request: { esimTranNoList: [esimTranNo] },
    obj: {
      esimUsageList: [{ esimTranNo, dataUsage: 869_730_877, totalData: 1_073_741_824, lastUpdateTime: time }],
    },
  },
  'esim/sendSms': { request: { iccid, message: 'Welcome to Japan' }, obj: {} },
  'webhook/save': { request: { webhook: 'https://dealer.example.com/esim-events' }, obj: {} },
  'webhook/query': { request: {}, obj: { webhook: 'https://dealer.example.com/esim-events' } },
}

const contents: { [Name in RtNotifyType]: object } = {
  ORDER_STATUS: { orderNo, transactionId: 'T-1', orderStatus: 'GOT_RESOURCE' },
  SMDP_EVENT: {
    ...{ eid: '89049032123451234512345678901235', ...esimName, ...statuses },
    ...{ timestamp: time, seqNumber: 3, notifyStatus: 'Executed-Success' },
  },
  ESIM_STATUS: {
    ...{ ...esimName, ...statuses },
    ...{ totalVolume: 1_073_741_824, orderUsage: 869_730_877, remainVolume: 204_010_947 },
  },
  DATA_USAGE: {
    ...{ ...esimName, totalVolume: 1_073_741_824, orderUsage: 869_730_877 },
    ...{ remain: 204_010_947, lastUpdateTime: time, remainThreshold: 0.2 },
  },
  VALIDITY_USAGE: {
    ...{ orderNo, transactionId: 'T-1', iccid, durationUnit: 'DAY', totalDuration: 7 },
    ...{ expiredTime: '2026-11-27T13:28:09+0000', remain: 1 },
  },
  CHECK_HEALTH: { orderNo: '1234567890', orderStatus: 'Test' },
}

export function rtEventExample(notifyType: RtNotifyType): object {
  const notifyId = '01939ab2-7d6f-7c3e-9a51-8f2b6c1d0e4a'
  return { notifyType, eventGenerateTime: time, notifyId, content: contents[notifyType] }
}

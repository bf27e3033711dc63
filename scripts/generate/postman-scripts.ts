/** The scripts of the Postman collection. They run in Postman's sandbox, whose objects are `pm` and `require`. */

/** Before each request: refuses a live key, and signs the text that is sent. */
export const SIGN = `
const [baseUrl, appKey, appSecret] = ['baseUrl', 'appKey', 'appSecret'].map((name) => pm.variables.get(name))
if (!baseUrl || !appKey || !appSecret) throw new Error('Choose an environment and fill in baseUrl, appKey and appSecret.')
const isLocal = /^http:\\/\\/(localhost|127\\.0\\.0\\.1)(:|\\/|$)/.test(baseUrl)
if (!isLocal && !appKey.includes('_test_') && pm.variables.get('allowLive') !== 'true') {
  throw new Error('This is no test key, and some requests buy. Use test mode, or set allowLive to true in the environment.')
}
// Begins the transactionIds of a run of the collection, so that a second run is a second purchase.
if (!pm.collectionVariables.get('run')) pm.collectionVariables.set('run', 'PM-' + Date.now().toString(36))

const body = pm.variables.replaceIn(pm.request.body.raw)
const timestamp = String(Date.now())
const requestId = require('uuid').v4()
const signature = require('crypto-js').HmacSHA256(timestamp + requestId + appKey + body, appSecret).toString()
pm.request.body.update(body)
pm.request.headers.upsert({ key: 'RT-AccessCode', value: appKey })
pm.request.headers.upsert({ key: 'RT-RequestID', value: requestId })
pm.request.headers.upsert({ key: 'RT-Timestamp', value: timestamp })
pm.request.headers.upsert({ key: 'X-Signature', value: signature })
`

/** After each answer: checks it, and keeps what later requests need. */
export const CHECK = `
const operation = pm.request.url.getPath().replace(/^.*\\/open-api\\/v1\\//, '')
const { code, message, data: answer } = pm.response.json()
const documented = JSON.parse(pm.collectionVariables.get('refusals'))[operation] || []
pm.test('answers 200 or its documented refusal', () => {
  if (code === '000000') pm.response.to.have.status(200)
  else pm.expect(documented, code + ' ' + message).to.include(code)
})
const keep = (name, value) => value !== undefined && pm.collectionVariables.set(name, value)
if (code === '000000' && operation === 'account/balance') keep('balance', answer.balance)
if (code === '000000' && operation === 'ledger/checkpoint') keep('treeSize', answer.treeSize)
if (code === '000000' && operation === 'package/list') {
  const isTopUp = answer.packageList.some(({ packageType }) => packageType === 'TOPUP')
  const fits = (each) => each.periodNumMin === null && (isTopUp || (each.topUpSupported && each.cancelPolicy.cancellable))
  const chosen = answer.packageList.find(fits) || answer.packageList[0] || {}
  keep(isTopUp ? 'topupPackageCode' : 'packageCode', chosen.packageCode)
  keep(isTopUp ? 'topupPrice' : 'price', chosen.price)
  if (!isTopUp) keep('amount', 2 * chosen.price)
}
if (code === '000000' && operation === 'esim/query') {
  keep('orderNo', answer.orderNo)
  keep('esimTranNo', answer.profileList[0]?.esimTranNo)
  keep('esimToCancel', answer.profileList[1]?.esimTranNo)
  // The collection runner asks again until the order is delivered.
  const tries = Number(pm.collectionVariables.get('tries') || 0) + 1
  const isFinal = ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED', 'CANCELLED'].includes(answer.orderStatus)
  pm.collectionVariables.set('tries', isFinal ? 0 : tries)
  if (!isFinal && tries < 60) {
    pm.execution.setNextRequest(pm.info.requestName)
    setTimeout(() => undefined, 500)
  }
}
`

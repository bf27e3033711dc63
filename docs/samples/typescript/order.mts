// Buys one eSIM and prints the answer. Usage: npx tsx order.mts PACKAGE_CODE TRANSACTION_ID
// Needs DEALER_ESIM_BASE_URL, DEALER_ESIM_APP_KEY and DEALER_ESIM_APP_SECRET.
import { DealerEsim, DealerEsimError } from '@dealer-esim/sdk'

if (process.argv.length !== 4) {
  console.error('Usage: npx tsx order.mts PACKAGE_CODE TRANSACTION_ID')
  process.exit(2)
}
const { DEALER_ESIM_BASE_URL = '', DEALER_ESIM_APP_KEY = '', DEALER_ESIM_APP_SECRET = '' } = process.env
const esim = new DealerEsim({
  baseUrl: DEALER_ESIM_BASE_URL,
  appKey: DEALER_ESIM_APP_KEY,
  appSecret: DEALER_ESIM_APP_SECRET,
})
const [packageCode = '', transactionId = ''] = process.argv.slice(2)
try {
  // Retries use a new RequestID and the same transactionId, so nothing is bought twice.
  const data = await esim.order({ transactionId, packageInfoList: [{ packageCode, count: 1 }] })
  console.log(JSON.stringify({ code: '000000', data }))
} catch (error) {
  if (!(error instanceof DealerEsimError)) throw error
  console.log(JSON.stringify({ code: error.code, message: error.message, data: error.data }))
  process.exitCode = 1
}

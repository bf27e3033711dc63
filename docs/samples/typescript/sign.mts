// Prints X-Signature. Usage: npx tsx sign.mts TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
// The SDK signs requests itself; use this only without the SDK.
import { createHmac } from 'node:crypto'

if (process.argv.length !== 7) {
  console.error('Usage: npx tsx sign.mts TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY')
  process.exit(2)
}
const [timestamp = '', requestId = '', appKey = '', appSecret = '', body = ''] = process.argv.slice(2)
const signature = createHmac('sha256', appSecret)
  .update(timestamp + requestId + appKey + body)
  .digest('hex')
console.log(signature)

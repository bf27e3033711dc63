// Prints X-Signature. Usage: npx tsx sign.mts TIMESTAMP REQUEST_ID APP_KEY APP_SECRET BODY
// The SDK signs by itself; this is for those who do without it.
import { createHmac } from 'node:crypto'

const [timestamp = '', requestId = '', appKey = '', appSecret = '', body = ''] = process.argv.slice(2)
const signature = createHmac('sha256', appSecret)
  .update(timestamp + requestId + appKey + body)
  .digest('hex')
console.log(signature)

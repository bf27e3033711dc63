// Verifies an event. Reads the body from standard input, byte for byte as received.
// Usage: npx tsx verify-event.mts WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body; needs DEALER_ESIM_APP_SECRET.
// In a server use expressWebhook, fastifyWebhook, nodeWebhook or fetchWebhook, which call this for you.
import { readFileSync } from 'node:fs'
import { verifyEvent } from '@dealer-esim/sdk'

if (process.argv.length !== 5) {
  console.error('Usage: npx tsx verify-event.mts WEBHOOK_ID WEBHOOK_TIMESTAMP WEBHOOK_SIGNATURE < body')
  process.exit(2)
}
const [id, timestamp, signature] = process.argv.slice(2)
const headers = { 'webhook-id': id, 'webhook-timestamp': timestamp, 'webhook-signature': signature }
const genuine = await verifyEvent({
  appSecret: process.env.DEALER_ESIM_APP_SECRET ?? '',
  headers,
  body: readFileSync(0),
}).then(
  () => true,
  () => false,
)
console.log(genuine ? 'genuine' : 'not genuine')
process.exitCode = genuine ? 0 : 1

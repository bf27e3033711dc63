// Floods a gateway with orders over many connections: each sends its order again and again until it is placed, then the
// next, and never waits. What is refused as overload costs no RequestID, so the same bytes go out again.
import { createHmac, randomUUID } from 'node:crypto'
import net from 'node:net'

const { port, connections, appKey, appSecret } = JSON.parse(process.argv[2])
let seen = nothing()

function nothing() {
  return { placedMs: [], refusedMs: [], others: 0 }
}

function signedOrder() {
  const body = JSON.stringify({ transactionId: randomUUID(), packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] })
  const [timestamp, requestId] = [String(Date.now()), randomUUID()]
  const signature = createHmac('sha256', appSecret)
    .update(timestamp + requestId + appKey + body)
    .digest('hex')
  const head = `POST /open-api/v1/esim/order HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n`
  const signed = `RT-AccessCode: ${appKey}\r\nRT-RequestID: ${requestId}\r\nRT-Timestamp: ${timestamp}\r\nX-Signature: ${signature}\r\n`
  return `${head}${signed}Content-Length: ${body.length}\r\n\r\n${body}`
}

function connect() {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  let order = signedOrder()
  let sentAt = 0
  const send = () => {
    sentAt = performance.now()
    socket.write(order)
  }
  socket.on('connect', send)
  socket.on('error', () => seen.others++)
  socket.on('data', (bytes) => {
    const status = bytes.latin1Slice(9, 12)
    const durationMs = performance.now() - sentAt
    if (status === '200') seen.placedMs.push(durationMs)
    else if (status === '503') seen.refusedMs.push(durationMs)
    else seen.others++
    if (status !== '503') order = signedOrder()
    send()
  })
}

for (let index = 0; index < connections; index++) connect()

process.on('message', () => {
  seen.placedMs.sort((left, right) => left - right)
  seen.refusedMs.sort((left, right) => left - right)
  process.send(seen)
  seen = nothing()
})
process.on('disconnect', () => process.exit(0))
process.send('flooding')

// Floods a gateway with orders over many connections. Each connection repeats its order without a pause until it is placed,
// then sends the next. A request refused because of overload uses no RequestID, so the same bytes are sent again.
import { createHmac, randomUUID } from 'node:crypto'
import net from 'node:net'

const { port, connections, appKey, appSecret } = JSON.parse(process.argv[2])
let results = noResults()

function noResults() {
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
  socket.on('error', () => results.others++)
  socket.on('data', (bytes) => {
    const status = bytes.latin1Slice(9, 12)
    const durationMs = performance.now() - sentAt
    if (status === '200') results.placedMs.push(durationMs)
    else if (status === '503') results.refusedMs.push(durationMs)
    else results.others++
    if (status !== '503') order = signedOrder()
    send()
  })
}

for (let index = 0; index < connections; index++) connect()

process.on('message', () => {
  results.placedMs.sort((left, right) => left - right)
  results.refusedMs.sort((left, right) => left - right)
  process.send(results)
  results = noResults()
})
process.on('disconnect', () => process.exit(0))
process.send('flooding')

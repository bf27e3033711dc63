// One caller that goes to its limits: over many connections it sends requests without a pause, each after the answer to the one
// before, until it is killed. Its argument is JSON:
//   port, connections
//   head      lines of the request, with {id} for a new id; `signs` adds the headers of a signed request, of several callers in turn
//   body      text with {id}, or `bodyBytes` of a PDF; `holds`: the last byte is never sent
import { createHmac, randomUUID } from 'node:crypto'
import net from 'node:net'

const { port, connections, head, body = '', bodyBytes, holds = false, signs } = JSON.parse(process.argv[2])
const file =
  bodyBytes === undefined ? undefined : Buffer.concat([Buffer.from('%PDF-1.7\n'), Buffer.alloc(bodyBytes - 9, 7)])
const signers = signs ? [signs].flat() : []
let requests = 0
let statuses = {}

function nextRequest() {
  const id = randomUUID()
  const content = file ?? Buffer.from(body.replaceAll('{id}', id))
  const lines = [head.replaceAll('{id}', id), `Content-Length: ${content.length}`]
  if (signers.length > 0) {
    const { appKey, appSecret } = signers[requests++ % signers.length]
    const [timestamp, requestId] = [String(Date.now()), randomUUID()]
    const signature = createHmac('sha256', appSecret)
      .update(timestamp + requestId + appKey)
      .update(content)
    lines.push(`RT-AccessCode: ${appKey}`, `RT-RequestID: ${requestId}`, `RT-Timestamp: ${timestamp}`)
    lines.push(`X-Signature: ${signature.digest('hex')}`)
  }
  return { start: `${lines.join('\r\n')}\r\n\r\n`, content: holds ? content.subarray(0, -1) : content }
}

function connect() {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  let received = ''
  const send = () => {
    const { start, content } = nextRequest()
    socket.write(start)
    socket.write(content)
  }
  socket.on('connect', send)
  socket.on('error', () => {})
  // A connection that the gateway has closed is opened again, but not thousands of times a second.
  socket.on('close', () => setTimeout(connect, 20))
  socket.on('data', (bytes) => {
    received += bytes.toString('latin1')
    if (!isWhole(received)) return
    const status = received.slice(9, 12)
    statuses[status] = (statuses[status] ?? 0) + 1
    received = ''
    send()
  })
}

function isWhole(text) {
  const end = text.indexOf('\r\n\r\n')
  if (end < 0) return false
  const lines = text.slice(0, end)
  if (/transfer-encoding: chunked/i.test(lines)) return text.endsWith('\r\n0\r\n\r\n')
  return text.length >= end + 4 + Number(/content-length: (\d+)/i.exec(lines)?.[1] ?? 0)
}

for (let index = 0; index < connections; index++) connect()
process.on('message', () => {
  process.send(statuses)
  statuses = {}
})
process.on('disconnect', () => process.exit(0))
process.send('calling')

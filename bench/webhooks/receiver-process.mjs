import { createServer } from 'node:http'

// Answers 204 to every POST and records when each notifyId first arrived; /hang never answers. With /orders it records when
// each order's DELIVERY_UPDATED with the status DELIVERED first arrived, by transactionId.
const arrived = new Map()

const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now()
  if (request.url === '/hang') return void request.resume()
  const chunks = []
  if (request.url === '/orders') request.on('data', (chunk) => chunks.push(chunk))
  else request.resume()
  request.on('end', () => {
    response.writeHead(204).end()
    const key =
      request.url === '/orders' ? deliveredIn(Buffer.concat(chunks).toString()) : request.headers['webhook-id']
    if (key !== undefined && !arrived.has(key)) arrived.set(key, atMs)
  })
})

function deliveredIn(event) {
  if (!event.includes('"orderStatus":"DELIVERED"')) return undefined
  return /"transactionId":"([^"]+)"/.exec(event)?.[1]
}
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send({ port: server.address().port }))

process.on('message', (request) => {
  if (request === 'count') process.send({ count: arrived.size })
  else {
    process.send({ arrived: [...arrived] })
    arrived.clear()
  }
})
process.on('disconnect', () => process.exit(0))

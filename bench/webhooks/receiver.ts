import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'

// A child process: answers 204 to every POST, notes when each notifyId first arrived, and tells on request.
// /hang never answers.
const arrived = new Map<string, number>()

const server = createServer((request, response) => {
  const at_ms = performance.timeOrigin + performance.now()
  if (request.url === '/hang') return void request.resume()
  const notifyId = String(request.headers['webhook-id'])
  request.resume()
  request.on('end', () => {
    if (!arrived.has(notifyId)) arrived.set(notifyId, at_ms)
    response.writeHead(204).end()
  })
})
server.keepAliveTimeout = 60_000
server.listen(0, '127.0.0.1', () => process.send?.({ port: (server.address() as AddressInfo).port }))

process.on('message', (message: 'count' | 'take') => {
  if (message === 'count') process.send?.({ count: arrived.size })
  else {
    process.send?.({ arrived: [...arrived] })
    arrived.clear()
  }
})
process.on('disconnect', () => process.exit(0))

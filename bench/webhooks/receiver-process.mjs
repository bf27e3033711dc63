import { createServer } from 'node:http'

// Answers 204 to every POST and records when each notifyId first arrived; /hang never answers.
const arrived = new Map()

const server = createServer((request, response) => {
  const atMs = performance.timeOrigin + performance.now()
  request.resume()
  if (request.url === '/hang') return
  request.on('end', () => {
    const notifyId = String(request.headers['webhook-id'])
    if (!arrived.has(notifyId)) arrived.set(notifyId, atMs)
    response.writeHead(204).end()
  })
})
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

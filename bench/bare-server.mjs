// The baseline of `health`: node:http alone. Reads and parses the body, and answers with fixed bytes.
import http from 'node:http'

const answer = Buffer.from(process.argv[2])
const server = http.createServer((request, response) => {
  const chunks = []
  request.on('data', (chunk) => chunks.push(chunk))
  request.on('end', () => {
    JSON.parse(Buffer.concat(chunks).toString())
    response.writeHead(200, {
      'content-type': 'application/json; charset=utf-8',
      'content-length': answer.length,
      'rt-requestid': request.headers['rt-requestid'],
    })
    response.end(answer)
  })
})
server.listen(0, '127.0.0.1', () => process.send(server.address().port))

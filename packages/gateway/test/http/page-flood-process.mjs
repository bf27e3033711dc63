// Requests a page continuously over many connections. Replies to each message with the number of answers so far.
import net from 'node:net'

const { port, connections, path } = JSON.parse(process.argv[2])
const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
let answers = 0

for (let index = 0; index < connections; index++) {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  socket.on('connect', () => socket.write(request))
  // Answers are small, so each arrives in one piece.
  socket.on('data', () => {
    answers++
    socket.write(request)
  })
}

process.on('message', () => process.send(answers))
process.on('disconnect', () => process.exit(0))
process.send('flooding')

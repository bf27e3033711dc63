// Asks for a page over many connections: each again as soon as it is answered. Tells how many were, whenever it is asked.
import net from 'node:net'

const { port, connections, path } = JSON.parse(process.argv[2])
const request = `GET ${path} HTTP/1.1\r\nHost: localhost\r\n\r\n`
let shown = 0

for (let index = 0; index < connections; index++) {
  const socket = net.connect(port, '127.0.0.1').setNoDelay(true)
  socket.on('connect', () => socket.write(request))
  // Answers are small: each comes in one piece.
  socket.on('data', () => {
    shown++
    socket.write(request)
  })
}

process.on('message', () => process.send(shown))
process.on('disconnect', () => process.exit(0))
process.send('flooding')

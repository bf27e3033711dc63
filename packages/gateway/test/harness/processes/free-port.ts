import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/** Below the ports that systems choose for connections and for servers that name none, so that nobody takes it meanwhile. */
const FIRST = 20_000
const END = 32_000

/** A port on which nothing listens, for a program that starts later. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(FIRST, END)
    if (await isFree(port)) return port
  }
}

function isFree(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const server = createServer().once('error', () => resolve(false))
    server.listen(port, '0.0.0.0', () => server.close(() => resolve(true)))
  })
}

import fastify from 'fastify'
import type { Deps } from './deps.ts'
import type { Running } from './lib/lifecycle.ts'
import { listen } from './lib/listen.ts'

/** The HTTP server of this process. */
export async function startApi({ config }: Deps): Promise<Running & { port: number }> {
  const server = fastify()
  const port = await listen(server, { host: config.host, port: config.port, variable: 'PORT' })
  return { port, stop: () => server.close() }
}

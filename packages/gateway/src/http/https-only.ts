import type { FastifyInstance } from 'fastify'
import type { Config } from '../config/config.ts'
import { callerReader, isSecure } from './caller.ts'

/**
 * Refuses what comes by plain HTTP, but on a local deployment. No redirect: the link of a QR picture has been read by
 * everybody on the way by then, and whoever writes http:// should notice. A page that takes passwords is not shown either:
 * what is typed into it would be sent before anybody could refuse it.
 * @param url where the same is reached by HTTPS
 */
export function httpsOnly(app: FastifyInstance, { config }: { config: Config }, url = config.publicUrl): void {
  if (config.deployment === 'local') return // whatever proxies say or leave out
  const callerOf = callerReader(config.trustedProxies)
  app.addHook('onRequest', async (request, reply) => {
    if (isSecure(callerOf(request.raw), config)) return
    reply.headers({ 'cache-control': 'no-store', 'referrer-policy': 'no-referrer' })
    return reply
      .code(403)
      .type('text/plain; charset=utf-8')
      .send(`HTTPS is required. Open the address that begins with ${url}.\n`)
  })
}

import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { FastifyInstance, FastifyRequest } from 'fastify'
import type { Deps } from '#deps.ts'
import { consoleUrlOf } from '#people/personal-link.ts'
import { createProvider } from '#people/provider/provider.ts'
import { sessionCookieName } from '#people/signed-in-operator.ts'
import { consoleFolder } from '#platform/package-root.ts'
import { callerReader, isSecure } from '../caller.ts'
import type { LoadShedder } from '../load-shedding/load-shedder.ts'
import { httpsOnly, plainFailures } from '../public-pages.ts'
import { addConsolePages } from './console-pages.ts'
import { addConsoleApi } from './console-server.ts'

/** Adds the console's pages and API to a server. */
export function addConsole(
  app: FastifyInstance,
  deps: Deps,
  { bodies, bodyRefusals }: Pick<LoadShedder, 'bodies' | 'bodyRefusals'>,
): void {
  const { config, links } = deps
  const callerOf = callerReader(config.trustedProxies)
  const isLocal = config.deployment === 'local'

  function addressOf(request: FastifyRequest): string {
    const caller = callerOf(request.raw)
    if (!isSecure(caller, config))
      throw new Refusal(403, 'HTTPS_REQUIRED', 'HTTPS is required. Open the https address.')
    return caller.address
  }

  const urls = [config.publicUrl, config.consoleUrl].flatMap((url) => (url ? [new URL(url)] : []))
  addConsoleApi(
    app,
    { ...deps, consoleUrl: () => consoleUrlOf(links), provider: createProvider(deps) },
    {
      origins: urls.map((url) => url.origin),
      loopback: isLocal,
      addressOf,
      bodies,
      bodyRefusals,
      cookieName: sessionCookieName(config),
    },
  )
  app.register(async (pages) => {
    plainFailures(pages, deps)
    httpsOnly(pages, deps, config.consoleUrl)
    addConsolePages(pages, {
      directory: consoleFolder(),
      prefix: new URL(config.consoleUrl ?? config.publicUrl ?? 'http://local').pathname.replace(/\/$/, ''),
      ids: deps.ids,
      httpsOnly: !isLocal,
      db: deps.db,
    })
  })
}

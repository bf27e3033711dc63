import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { Ids } from '../lib/ids.ts'
import { CONSOLE_API } from './server.ts'

export interface PagesOptions {
  /** The folder that `vite build` wrote. */
  directory: string
  /** The path of PUBLIC_URL, such as `/esim`, or empty: pages are told where they stand. */
  prefix: string
  ids: Pick<Ids, 'bytes'>
  /** Whether the host is reached by HTTPS only: browsers are told, and go there by HTTPS whatever somebody types. */
  httpsOnly: boolean
}

const NONCE_BYTES = 16
const CONSOLE = '/console'

/** Serves the console's pages under /console: files by their names, the one page for every other address. */
export function consolePages(app: FastifyInstance, options: PagesOptions): void {
  const page = pageOf(options)
  app.register(async (pages) => {
    await pages.register(fastifyStatic, {
      root: join(options.directory, 'assets'),
      prefix: `${CONSOLE}/assets/`,
      // Their names carry a hash of their contents.
      immutable: true,
      maxAge: '365d',
      decorateReply: false,
      setHeaders: (reply) => void reply.setHeader('X-Content-Type-Options', 'nosniff'),
    })
    for (const file of ['color-scheme.js', 'icon.svg'] as const) {
      const body = readIfThere(join(options.directory, file))
      const type = file.endsWith('.js') ? 'text/javascript' : 'image/svg+xml'
      pages.get(`${CONSOLE}/${file}`, async (_, reply) =>
        secured(reply, options, '').type(type).header('Cache-Control', 'max-age=3600').send(body),
      )
    }
    pages.get(CONSOLE, async (_, reply) => reply.redirect(`${options.prefix}${CONSOLE}/`, 308))
    pages.get(`${CONSOLE}/*`, async (request, reply) => {
      if (request.url.startsWith(`${CONSOLE_API}/`)) return reply.callNotFound()
      const nonce = options.ids.bytes(NONCE_BYTES).toString('base64')
      return secured(reply, options, nonce)
        .type('text/html; charset=utf-8')
        .header('Cache-Control', 'no-store')
        .send(page(nonce))
    })
  })
}

/** Scripts only from files of ours, styles only with this answer's nonce, no frames, nothing from elsewhere. */
function secured(reply: FastifyReply, { httpsOnly }: PagesOptions, nonce: string): FastifyReply {
  const policy = [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `font-src 'self'`,
    `form-action 'self'`,
    `base-uri 'self'`,
    `frame-ancestors 'none'`,
  ]
  return reply.headers({
    'Content-Security-Policy': policy.join('; '),
    'X-Frame-Options': 'DENY',
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cross-Origin-Opener-Policy': 'same-origin',
    'Permissions-Policy': 'camera=(), microphone=(), geolocation=()',
    ...(httpsOnly ? { 'Strict-Transport-Security': 'max-age=31536000' } : {}),
  })
}

const NOT_BUILT =
  '<!doctype html><html lang="en"><title>Console</title><h1>The console is not built.</h1><p>Run npm run build.</p></html>'

function pageOf(options: PagesOptions): (nonce: string) => string {
  const html = readIfThere(join(options.directory, 'index.html')) ?? NOT_BUILT
  const based = html.replace('<base href="/console/" />', `<base href="${options.prefix}${CONSOLE}/" />`)
  return (nonce) => based.replace('name="style-nonce" content=""', `name="style-nonce" content="${nonce}"`)
}

function readIfThere(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

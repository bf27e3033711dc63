import { createHash } from 'node:crypto'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import fastifyStatic from '@fastify/static'
import type { FastifyInstance, FastifyReply } from 'fastify'
import type { BrandReader } from '#brands/brand-source.ts'
import { pictureAnswer } from '#brands/picture-answer.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { createShownBrand, type ShownBrand } from './brands/shown-brand.ts'
import { CONSOLE_API } from './kernel/route.ts'

export interface PagesOptions {
  /** The output folder of `vite build`. */
  directory: string
  /** The path of PUBLIC_URL, such as `/esim`, or empty. Written into the page's base address. */
  prefix: string
  ids: Pick<Ids, 'bytes'>
  /** Makes browsers use HTTPS only for this host (HSTS). */
  httpsOnly: boolean
  db: BrandReader
}

const NONCE_BYTES = 16
const CONSOLE = '/console'

/**
 * Serves the console under /console: its files by name, and its single HTML page for every other path. They are public: the
 * data comes from the console API.
 */
export function addConsolePages(app: FastifyInstance, options: PagesOptions): void {
  const render = pageTemplate(options)
  const shownBrand = createShownBrand(options.db)
  app.register(async (pages) => {
    pages.addHook('onRoute', (route) => {
      route.config = { access: 'anybody' }
    })
    if (!render) refuseUnbuilt(pages)
    await pages.register(fastifyStatic, {
      root: join(options.directory, 'assets'),
      prefix: `${CONSOLE}/assets/`,
      // File names contain a hash of the content.
      immutable: true,
      maxAge: '365d',
      // The build wrote .br and .gz beside each file.
      preCompressed: true,
      decorateReply: false,
      setHeaders(reply) {
        reply.setHeader('X-Content-Type-Options', 'nosniff')
        reply.setHeader('Vary', 'Accept-Encoding')
      },
    })
    for (const file of ['color-scheme.js', 'icon.svg'] as const) {
      const body = readIfExists(join(options.directory, file))
      const type = file.endsWith('.js') ? 'text/javascript' : 'image/svg+xml'
      pages.get(`${CONSOLE}/${file}`, async (_, reply) =>
        withSecurityHeaders(reply, options, '').type(type).header('Cache-Control', 'max-age=3600').send(body),
      )
    }
    pages.get<{ Params: { name: string } }>(`${CONSOLE}/brand/:name`, async (request, reply) => {
      const answer = await pictureAnswer(options.db, request.params.name)
      return answer ? reply.headers(answer.headers).send(answer.content) : reply.callNotFound()
    })
    const verifier = readIfExists(join(options.directory, 'verify-books.html')) ?? ''
    const headers = verifierHeaders(verifier)
    pages.get(`${CONSOLE}/verify-books.html`, async (_, reply) => reply.headers(headers).send(verifier))
    pages.get(CONSOLE, async (_, reply) => reply.redirect(`${options.prefix}${CONSOLE}/`, 308))
    pages.get(`${CONSOLE}/*`, async (request, reply) => {
      if (request.url.startsWith(`${CONSOLE_API}/`)) return reply.callNotFound()
      const nonce = options.ids.bytes(NONCE_BYTES).toString('base64')
      return withSecurityHeaders(reply, options, nonce)
        .type('text/html; charset=utf-8')
        .header('Cache-Control', 'no-store')
        .send(render!(nonce, await shownBrand()))
    })
  })
}

/** Allows scripts and pictures from this host, styles also with this answer’s nonce, and frames of it only. */
function withSecurityHeaders(reply: FastifyReply, { httpsOnly }: PagesOptions, nonce: string): FastifyReply {
  const policy = [
    `default-src 'none'`,
    `script-src 'self'`,
    `style-src 'self' 'nonce-${nonce}'`,
    `img-src 'self' data:`,
    `connect-src 'self'`,
    `frame-src 'self'`, // a test twin's e-mail
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

/** The page that checks books offline has its script and its style inside. It may load and send nothing. */
function verifierHeaders(page: string): Record<string, string> {
  const hashes = (tag: string) =>
    [...page.matchAll(new RegExp(`<${tag}>([^]*?)</${tag}>`, 'g'))].map(
      ([, text = '']) => `'sha256-${createHash('sha256').update(text).digest('base64')}'`,
    )
  const policy = [
    `default-src 'none'`,
    `script-src ${hashes('script').join(' ')}`,
    `style-src ${hashes('style').join(' ')}`,
    `base-uri 'none'`,
    `form-action 'none'`,
    `frame-ancestors 'none'`,
  ]
  return {
    'Content-Type': 'text/html; charset=utf-8',
    'Content-Security-Policy': policy.join('; '),
    'X-Content-Type-Options': 'nosniff',
    'Referrer-Policy': 'no-referrer',
    'Cache-Control': 'max-age=3600',
  }
}

const NOT_BUILT = 'The console is not built. Run “npm run build” in the folder of the gateway, and start it again.\n'

/** 503 rather than a page, so that monitors and scripts do not mistake it for the console. */
function refuseUnbuilt(pages: FastifyInstance): void {
  pages.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith(`${CONSOLE_API}/`)) return reply.callNotFound()
    return reply.code(503).type('text/plain; charset=utf-8').header('Cache-Control', 'no-store').send(NOT_BUILT)
  })
}

/** undefined if the console is not built. */
function pageTemplate(options: PagesOptions): ((nonce: string, brand: ShownBrand | undefined) => string) | undefined {
  const html = readIfExists(join(options.directory, 'index.html'))
  if (html === undefined) return undefined
  const template = html.replace('<base href="/console/" />', `<base href="${options.prefix}${CONSOLE}/" />`)
  return (nonce, brand) => {
    const page = template.replace('name="style-nonce" content=""', `name="style-nonce" content="${nonce}"`)
    return brand ? withBrand(page, brand) : page
  }
}

/** Title, icon, and what the application shows: known with the page, so that nothing changes while it is looked at. */
function withBrand(page: string, brand: ShownBrand): string {
  const icon = brand.icon && `<link rel="icon" type="image/png" href="./${brand.icon}" />`
  return page
    .replace(/<title>[^<]*<\/title>/, () => `<title>${escapeHtml(brand.name)}</title>`)
    .replace(OWN_ICON, (own) => icon ?? own)
    .replace('name="brand" content=""', () => `name="brand" content="${escapeHtml(JSON.stringify(brand))}"`)
}

/** As index.html has it. */
const OWN_ICON = '<link rel="icon" type="image/svg+xml" href="./icon.svg" />'

function readIfExists(path: string): string | undefined {
  return existsSync(path) ? readFileSync(path, 'utf8') : undefined
}

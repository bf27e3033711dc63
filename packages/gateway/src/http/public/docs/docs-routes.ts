import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { Clock } from '@dealer-esim/lib/clock.ts'
import cookie from '@fastify/cookie'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { chooseLanguage } from '#esims/languages/choose-language.ts'
import { acceptsGzip } from '#http/gzip.ts'
import { createCallerLimiter } from '#http/load-shedding/caller-limits.ts'
import { addressIn, ENGLISH, markdownAddress } from './docs-files.ts'
import { createLibrary, type Library, type Resource, resource } from './docs-library.ts'
import { relativeTo } from './docs-markdown.ts'
import type { Audience } from './docs-navigation.ts'
import { notFoundPage } from './docs-page.ts'
import { searchPage } from './docs-search-page.ts'
import { type DocsBrand, splitAddress } from './docs-site.ts'

export interface DocsDeps {
  links: { publicUrl: string }
  /** What anybody may read. */
  audience: Audience
  brand(): Promise<DocsBrand | undefined>
  /** The operator's own people read everything. Called only if dealers may not. */
  isOperators(request: FastifyRequest): Promise<boolean>
  clock: Pick<Clock, 'monotonic'>
  /** Whose limits a search counts towards. */
  callerOf(request: FastifyRequest): string
}

type DocsRequest = FastifyRequest<{ Params: { '*': string }; Querystring: Record<string, unknown> }>

const ANYBODY = { access: 'anybody' }
const HTML = 'text/html; charset=utf-8'

const LANGUAGE_COOKIE = 'docs-language'
const LANGUAGE_KEPT_S = 31_536_000

/** A longer question is cut. */
const QUERY_LENGTH_MAX = 200

/** A stranger chooses the words, and the worst take 8 ms. A reader who types never waits. */
const SEARCHES = { ofCaller: 1, waiting: 16, ofNode: 64, time: { savedMs: 1_000, share: 0.1 } }

/**
 * Serves docs/*.md as pages under /docs in each language, each also as Markdown, with their pictures, the samples, a search and
 * the API reference. All links are relative, so a path prefix does not matter.
 */
export function addDocsRoutes(app: FastifyInstance, deps: DocsDeps): void {
  const isDivided = deps.audience !== 'all'
  const libraries = new Map<Audience, Library>()
  // Created at the first request: a gateway also starts without its documents.
  const libraryFor = async (request: FastifyRequest) => {
    const audience = isDivided && (await deps.isOperators(request)) ? 'all' : deps.audience
    const library = libraries.get(audience) ?? createLibrary(audience, deps.links)
    libraries.set(audience, library)
    return library
  }
  const searches = createCallerLimiter(SEARCHES, deps.clock)
  // The root redirects to the documentation.
  const redirect = (from: string, code: number, to: string) =>
    app.get(from, { config: ANYBODY }, (_request, reply) => reply.code(code).header('location', to).send())
  redirect('/', 302, 'docs/')
  redirect('/llms.txt', 302, 'docs/llms.txt')
  // Without the slash, relative links would leave /docs. The target is relative because of path prefixes.
  redirect('/docs', 308, 'docs/')
  app.get('/docs/*', { config: ANYBODY }, async (request: DocsRequest, reply) => {
    if (isDivided) reply.header('vary', 'Cookie')
    const library = await libraryFor(request)
    const { language, name } = splitAddress(request.params['*'])
    if (request.params['*'] === 'language') return chooseForLater(library, request, reply)
    const brand = await deps.brand()
    if (name !== 'search') return page(library, request, reply, brand)
    const end = await searches.begin(deps.callerOf(request))
    try {
      return await search(library, language, request, reply, brand)
    } finally {
      end()
    }
  })
}

async function page(library: Library, request: DocsRequest, reply: FastifyReply, brand: DocsBrand | undefined) {
  const address = request.params['*']
  if (address === '') {
    addVary(reply, 'Accept-Language, Cookie')
    const language = languageOf(library, request)
    if (language !== ENGLISH) return reply.code(302).headers(REDIRECTED).header('location', `${language}/`).send()
  }
  const shown = library.files.pages.get(address)
  if (shown) addVary(reply, 'Accept')
  const wanted = shown && /\btext\/markdown\b/.test(request.headers.accept ?? '') ? markdownAddress(shown) : address
  const found = library.find(wanted, brand)
  return found === undefined ? sendNotFound(library, address, reply, brand) : send(found, request, reply)
}

const REDIRECTED = { 'cache-control': 'no-cache' }

/** The language that the reader has chosen here, else that of the browser. */
function languageOf({ sites }: Library, { headers }: FastifyRequest): string {
  const chosen = cookie.parse(headers.cookie ?? '')[LANGUAGE_COOKIE]
  return chooseLanguage(sites, { chosen, acceptLanguage: headers['accept-language'] }).tag
}

/**
 * `language?to=zh-Hans&page=signing` remembers a choice and shows the page in it. At this address the cookie gets the path of
 * the documentation by default, whatever prefix a proxy adds.
 */
function chooseForLater({ files, sites }: Library, { query }: DocsRequest, reply: FastifyReply) {
  const language = sites.has(String(query.to)) ? String(query.to) : ENGLISH
  const name = files.pages.has(String(query.page)) ? String(query.page) : ''
  return reply
    .code(303)
    .headers({ 'cache-control': 'no-store', location: relativeTo('language', addressIn(language, name)) })
    .header('set-cookie', `${LANGUAGE_COOKIE}=${language}; Max-Age=${LANGUAGE_KEPT_S}; SameSite=Lax`)
    .send()
}

async function search(
  library: Library,
  language: string,
  request: DocsRequest,
  reply: FastifyReply,
  brand: DocsBrand | undefined,
) {
  const query = String(request.query.q ?? '')
    .slice(0, QUERY_LENGTH_MAX)
    .trim()
  const found = query === '' ? [] : (await library.search(language))(query)
  const html = searchPage(language, query, found, library.frame(brand))
  reply.header('x-robots-tag', 'noindex')
  return send(resource(HTML, html), request, reply)
}

/** More segments than any of our addresses has. */
const SEGMENTS_MAX = 8

/**
 * Not cached, because callers can invent any number of addresses. Each link on the page goes up through all segments of the
 * address, so an address with thousands of segments gets plain text instead of a megabyte of links.
 */
function sendNotFound(library: Library, address: string, reply: FastifyReply, brand: DocsBrand | undefined) {
  const isLong = address.split('/', SEGMENTS_MAX + 1).length > SEGMENTS_MAX
  const { language } = splitAddress(address)
  const html = isLong ? undefined : notFoundPage(address, language, library.frame(brand))
  const body = html === undefined ? resource('text/plain; charset=utf-8', 'Page not found.\n') : resource(HTML, html)
  return reply.code(404).headers(headersOf(body)).send(body.body)
}

function headersOf({ type, policy, etag }: Resource): Record<string, string> {
  return {
    'content-type': type,
    'content-security-policy': policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    etag,
  }
}

/** What is asked for by the version of its content never changes. Another node of an upgrade may have another version. */
const FOR_EVER = 'public, max-age=31536000, immutable'

async function send(found: Resource, request: FastifyRequest, reply: FastifyReply) {
  reply.headers(headersOf(found))
  addVary(reply, 'Accept-Encoding')
  const { v } = request.query as Record<string, unknown>
  if (v === found.version) reply.header('cache-control', FOR_EVER)
  if (request.headers['if-none-match'] === found.etag) return reply.code(304).send()
  const takesGzip = acceptsGzip(request.headers['accept-encoding'])
  if (!takesGzip || found.type === 'image/png') return reply.send(found.body) // pictures are already compressed
  found.gzipped ??= promisify(gzip)(found.body)
  return reply.header('content-encoding', 'gzip').send(await found.gzipped)
}

function addVary(reply: FastifyReply, names: string): void {
  const before = reply.getHeader('vary')
  reply.header('vary', before === undefined ? names : `${before}, ${names}`)
}

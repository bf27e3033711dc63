import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { type DocsFile, type DocsFiles, findDocsFiles } from './docs-files.ts'
import { renderMarkdown } from './docs-markdown.ts'
import { docsPage } from './docs-page.ts'
import {
  openApiDocument,
  REFERENCE_PAGE,
  REFERENCE_POLICY,
  REFERENCE_START,
  referenceBundle,
} from './docs-reference.ts'
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts'

/** Pages contain no scripts and load nothing from other hosts. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const ANYBODY = { access: 'anybody' }

const TEXT = 'text/plain; charset=utf-8'
const PNG = 'image/png'
const HTML = 'text/html; charset=utf-8'

interface Resource {
  type: string
  body: Buffer
  /** Computed for the first request that accepts it. */
  gzipped?: Promise<Buffer>
  etag: string
  policy: string
  status: 200 | 404
}

/**
 * Serves docs/*.md as pages under /docs, with their pictures, the samples and the API reference. Each is built at its first
 * request and cached: the documents belong to the running version. All links are relative, so a path prefix does not matter.
 */
export function addDocsRoutes(app: FastifyInstance, deps: { links: { publicUrl: string } }): void {
  const files = findDocsFiles()
  const cache = new Map<string, Resource>()
  const answer = async (address: string, request: FastifyRequest, reply: FastifyReply) => {
    let found = cache.get(address)
    if (found === undefined) {
      const built = build(address, files, deps.links.publicUrl)
      found = built ?? notFound(address, files)
      if (built !== undefined) cache.set(address, built)
    }
    return send(found, request, reply)
  }
  // The root redirects to the documentation.
  app.get('/', { config: ANYBODY }, (_request, reply) => reply.code(302).header('location', 'docs/').send())
  // Without the slash, relative links would leave /docs. The target is relative because of path prefixes.
  app.get('/docs', { config: ANYBODY }, (_request, reply) => reply.code(308).header('location', 'docs/').send())
  app.get<{ Params: { '*': string } }>('/docs/*', { config: ANYBODY }, (request, reply) =>
    answer(request.params['*'], request, reply),
  )
}

function build(address: string, files: DocsFiles, publicUrl: string): Resource | undefined {
  const page = files.pages.get(address)
  if (page !== undefined) return resource(HTML, renderPage(address, page, files))
  const file = files.files.get(address)
  if (file !== undefined) return resource(address.endsWith('.png') ? PNG : TEXT, readFileSync(file.file))
  switch (address) {
    case 'docs.css':
      return resource('text/css; charset=utf-8', DOCS_STYLE)
    case 'icon.svg':
      return resource('image/svg+xml', DOCS_ICON)
    case 'openapi.json':
    case 'openapi-rt.json':
      return resource('application/json; charset=utf-8', openApiDocument(address, publicUrl))
    case 'reference':
      return resource(HTML, REFERENCE_PAGE, REFERENCE_POLICY)
    case 'reference-start.js':
      return resource('text/javascript; charset=utf-8', REFERENCE_START)
    case 'reference-bundle.js': {
      const bundle = referenceBundle()
      return bundle && resource('text/javascript; charset=utf-8', bundle)
    }
    default:
      return undefined
  }
}

function renderPage(address: string, { path, file }: DocsFile, files: DocsFiles): string {
  return docsPage(address, renderMarkdown(readFileSync(file, 'utf8'), { path, address }, files), files)
}

/** More segments than any of our addresses has. */
const SEGMENTS_MAX = 8

/**
 * Not cached, because callers can invent any number of addresses. Each link on the page goes up through all segments of the
 * address, so an address with thousands of segments gets plain text instead of a megabyte of links.
 */
function notFound(address: string, files: DocsFiles): Resource {
  if (address.split('/', SEGMENTS_MAX + 1).length > SEGMENTS_MAX)
    return { ...resource(TEXT, 'Page not found.\n'), status: 404 }
  const html = '<h1>Page not found</h1>\n<p>The contents list all pages.</p>'
  return { ...resource(HTML, docsPage(address, { title: 'Not found', html }, files)), status: 404 }
}

function resource(type: string, body: string | Buffer, policy = PAGE_POLICY): Resource {
  const bytes = Buffer.from(body)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type, body: bytes, etag, policy, status: 200 }
}

async function send(resource: Resource, request: FastifyRequest, reply: FastifyReply) {
  reply.headers({
    'content-type': resource.type,
    'content-security-policy': resource.policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
    etag: resource.etag,
  })
  if (resource.status === 200 && request.headers['if-none-match'] === resource.etag) return reply.code(304).send()
  reply.code(resource.status)
  const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  if (!takesGzip || resource.type === PNG) return reply.send(resource.body) // pictures are already compressed
  resource.gzipped ??= promisify(gzip)(resource.body)
  return reply.header('content-encoding', 'gzip').send(await resource.gzipped)
}

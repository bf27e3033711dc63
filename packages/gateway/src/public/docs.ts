import { createHash } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { promisify } from 'node:util'
import { gzip } from 'node:zlib'
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify'
import { renderMarkdown } from './docs-markdown.ts'
import { docsPage } from './docs-page.ts'
import {
  openApiDocument,
  REFERENCE_PAGE,
  REFERENCE_POLICY,
  REFERENCE_START,
  referenceBundle,
} from './docs-reference.ts'
import { fillShelf, type Shelf, type Source } from './docs-shelf.ts'
import { DOCS_ICON, DOCS_STYLE } from './docs-style.ts'

/** Pages hold no script at all, and everything that they load comes from here. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

const TEXT = 'text/plain; charset=utf-8'
const PNG = 'image/png'
const HTML = 'text/html; charset=utf-8'

interface Item {
  type: string
  body: Buffer
  /** Made when the first browser takes it. */
  gzipped?: Promise<Buffer>
  etag: string
  policy: string
  status: 200 | 404
}

/**
 * Serves docs/*.md as pages under /docs, their pictures, the samples, and the API reference. Everything is made at its first request
 * and kept: the documents belong to the version that runs. Every link is relative, so a path prefix does not matter.
 */
export function docsPages(app: FastifyInstance, deps: { links: { publicUrl: string } }): void {
  const shelf = fillShelf()
  const kept = new Map<string, Item>()
  const answer = async (address: string, request: FastifyRequest, reply: FastifyReply) => {
    let item = kept.get(address)
    if (item === undefined) {
      const made = make(address, shelf, deps.links.publicUrl)
      item = made ?? notFound(address, shelf)
      if (made !== undefined) kept.set(address, made)
    }
    return send(item, request, reply)
  }
  // Who opens the gateway's own address is told what it is.
  app.get('/', (_request, reply) => reply.code(302).header('location', 'docs/').send())
  // Without the slash relative links would leave /docs. The target is relative for the same reason.
  app.get('/docs', (_request, reply) => reply.code(308).header('location', 'docs/').send())
  app.get<{ Params: { '*': string } }>('/docs/*', (request, reply) => answer(request.params['*'], request, reply))
}

function make(address: string, shelf: Shelf, publicUrl: string): Item | undefined {
  const page = shelf.pages.get(address)
  if (page !== undefined) return item(HTML, pageOf(address, page, shelf))
  const file = shelf.files.get(address)
  if (file !== undefined) return item(address.endsWith('.png') ? PNG : TEXT, readFileSync(file.file))
  switch (address) {
    case 'docs.css':
      return item('text/css; charset=utf-8', DOCS_STYLE)
    case 'icon.svg':
      return item('image/svg+xml', DOCS_ICON)
    case 'openapi.json':
      return item('application/json; charset=utf-8', openApiDocument(publicUrl))
    case 'reference':
      return item(HTML, REFERENCE_PAGE, REFERENCE_POLICY)
    case 'reference-start.js':
      return item('text/javascript; charset=utf-8', REFERENCE_START)
    case 'reference-bundle.js': {
      const bundle = referenceBundle()
      return bundle && item('text/javascript; charset=utf-8', bundle)
    }
    default:
      return undefined
  }
}

function pageOf(address: string, { path, file }: Source, shelf: Shelf): string {
  return docsPage(address, renderMarkdown(readFileSync(file, 'utf8'), { path, address }, shelf), shelf)
}

/** Far more than any address of ours has. */
const SEGMENTS_MAX = 8

/**
 * Not kept: anybody can ask for any number of addresses. Each link of a page leads back up through all segments of its
 * address: of one with thousands, a megabyte of them.
 */
function notFound(address: string, shelf: Shelf): Item {
  if (address.split('/', SEGMENTS_MAX + 1).length > SEGMENTS_MAX)
    return { ...item(TEXT, 'There is no such page.\n'), status: 404 }
  const html = '<h1>There is no such page</h1>\n<p>The contents list every page that there is.</p>'
  return { ...item(HTML, docsPage(address, { title: 'Not found', html }, shelf)), status: 404 }
}

function item(type: string, body: string | Buffer, policy = PAGE_POLICY): Item {
  const bytes = Buffer.from(body)
  const etag = `"${createHash('sha256').update(bytes).digest('base64url').slice(0, 22)}"`
  return { type, body: bytes, etag, policy, status: 200 }
}

async function send(item: Item, request: FastifyRequest, reply: FastifyReply) {
  reply.headers({
    'content-type': item.type,
    'content-security-policy': item.policy,
    'x-content-type-options': 'nosniff',
    'referrer-policy': 'no-referrer',
    'cache-control': 'no-cache',
    vary: 'Accept-Encoding',
    etag: item.etag,
  })
  if (item.status === 200 && request.headers['if-none-match'] === item.etag) return reply.code(304).send()
  reply.code(item.status)
  const takesGzip = /\bgzip\b/.test(String(request.headers['accept-encoding'] ?? ''))
  if (!takesGzip || item.type === PNG) return reply.send(item.body) // pictures are compressed already
  item.gzipped ??= promisify(gzip)(item.body)
  return reply.header('content-encoding', 'gzip').send(await item.gzipped)
}

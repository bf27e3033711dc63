import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import * as limits from '@dealer-esim/contract'
import Fastify, { type FastifyInstance } from 'fastify'
import MarkdownIt from 'markdown-it'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { documentsRoot } from '#platform/package-root.ts'
import { findDocsFiles } from './docs-files.ts'
import { headingId } from './docs-markdown.ts'
import { NAVIGATION } from './docs-page.ts'
import { addDocsRoutes } from './docs-routes.ts'

const root = documentsRoot()
let app: FastifyInstance
beforeAll(async () => {
  app = Fastify()
  addDocsRoutes(app, { links: { publicUrl: 'https://esim.example.com/prefix' } })
  await app.ready()
})
afterAll(() => app.close())

const get = (url: string, headers: Record<string, string> = {}) => app.inject({ method: 'GET', url, headers })

/** The links and pictures of a page. */
const links = (html: string) =>
  [...html.matchAll(/<(?:a|link) [^>]*?href="([^"]*)"|<[a-z]+ [^>]*?src="([^"]*)"/g)].map(([, href, src]) =>
    (href ?? src ?? '').replaceAll('&amp;', '&'),
  )

/** Every page that can be reached from the first, with its HTML. */
async function crawl(): Promise<Map<string, string>> {
  const seen = new Map<string, string>()
  const queue = ['/docs/']
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    if (seen.has(at)) continue
    const answer = await get(at)
    expect(answer.statusCode, `${at} is linked and must exist`).toBe(200)
    const isPage = String(answer.headers['content-type']).startsWith('text/html')
    seen.set(at, isPage ? answer.body : '')
    if (!isPage) continue
    for (const href of links(answer.body)) {
      const target = new URL(href, `http://docs.test${at}`)
      if (target.host === 'docs.test') queue.push(target.pathname)
    }
  }
  return seen
}

describe('the documentation pages', () => {
  test('every link is relative and points to an existing page and fragment', async () => {
    const pages = await crawl()
    expect([...pages.keys()]).toEqual(
      expect.arrayContaining(['/docs/quick-start', '/docs/codes', '/docs/reference', '/docs/sdk']),
    )
    for (const [at, html] of pages) {
      for (const href of links(html)) {
        expect(href, `a link on ${at} must survive a path prefix`).not.toMatch(/^\//)
        const target = new URL(href, `http://docs.test${at}`)
        const found = pages.get(target.pathname)
        if (target.host !== 'docs.test' || target.hash === '' || !found) continue
        expect(found, `${href} on ${at}`).toContain(`id="${decodeURIComponent(target.hash.slice(1))}"`)
      }
    }
  })

  test('pages contain no script and load nothing from other hosts', async () => {
    for (const [at, html] of await crawl()) {
      const loads = [...html.matchAll(/<(?:link|script|img|iframe|source|video|audio)\b[^>]*?(?:href|src)="([^"]*)"/g)]
      for (const [, from = ''] of loads) expect(from, at).not.toMatch(/^([a-z]+:)?\/\//i)
      expect(html, at).not.toMatch(/@import|url\(/)
      if (at !== '/docs/reference') expect(html, at).not.toMatch(/<script|<style|\son\w+=/)
    }
    expect((await get('/docs/docs.css')).body).not.toMatch(/@import|url\(|https?:/)
  })

  test('every answer has a strict content security policy', async () => {
    const policy = async (url: string) => String((await get(url)).headers['content-security-policy'])
    for (const url of ['/docs/', '/docs/signing', '/docs/docs.css', '/docs/samples/python/sign.py', '/docs/nothing']) {
      expect(await policy(url)).toMatch(/^default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'/)
    }
    expect(await policy('/docs/reference')).toMatch(
      /script-src 'self'; style-src 'self' 'unsafe-inline'; connect-src 'self'/,
    )
    expect(await policy('/docs/reference')).not.toMatch(/unsafe-eval|https?:|\*/)
  })

  test('pictures have the right content type and are not compressed again', async () => {
    const answer = await get('/docs/images/order-light-desktop.png', { 'accept-encoding': 'gzip' })
    expect(answer.statusCode).toBe(200)
    expect(answer.headers).toMatchObject({
      'content-type': 'image/png',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
      etag: expect.any(String),
    })
    expect(answer.headers).not.toHaveProperty('content-encoding')
    expect(answer.rawPayload.subarray(1, 4).toString()).toBe('PNG')
  })

  test('/docs redirects to the first page, even behind a path prefix', async () => {
    const answer = await get('/docs')
    expect([answer.statusCode, answer.headers.location]).toEqual([308, 'docs/'])
  })

  test('an unknown path is answered with 404 and cannot reach the file system', async () => {
    for (const url of ['/docs/nothing', '/docs/a/b', '/docs/../package.json', '/docs/..%2f..%2fpackage.json']) {
      const answer = await get(url)
      expect([url, answer.statusCode]).toEqual([url, 404])
    }
    expect((await get('/docs/a/b')).body).toContain('href="../docs.css"')
  })

  test('a path with thousands of slashes gets a one-line answer', async () => {
    for (const url of [`/docs/${'a/'.repeat(5_000)}`, `/docs/${'/'.repeat(5_000)}`]) {
      const answer = await get(url)
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
      expect(answer.rawPayload.length).toBeLessThan(10_000)
    }
  })

  test('every page is listed in the navigation', () => {
    const { pages } = findDocsFiles()
    const listed = NAVIGATION.flatMap(([, entries]) => entries.map(([address]) => address))
    expect(listed.filter((address) => !pages.has(address))).toEqual(['reference'])
  })

  test('raw HTML in a document is shown as text', async () => {
    for (const [at, html] of await crawl()) expect(html, at).not.toMatch(/<(iframe|object|embed|form|input)\b/)
  })

  test('each table scrolls in its own container', async () => {
    expect((await get('/docs/codes')).body).toContain('<div class="wide"><table>')
  })

  test('pages are compressed on request, and answered with 304 if the browser has them cached', async () => {
    const plain = await get('/docs/codes')
    const packed = await get('/docs/codes', { 'accept-encoding': 'gzip, br' })
    expect(packed.headers['content-encoding']).toBe('gzip')
    expect(packed.rawPayload.length).toBeLessThan(plain.rawPayload.length / 2)
    expect((await get('/docs/codes', { 'if-none-match': String(plain.headers.etag) })).statusCode).toBe(304)
  })

  test('samples are served as plain text', async () => {
    const answer = await get('/docs/samples/typescript/order.mts')
    expect(answer.headers).toMatchObject({
      'content-type': 'text/plain; charset=utf-8',
      'x-content-type-options': 'nosniff',
    })
  })

  test.each(['openapi.json', 'openapi-rt.json'])('%s contains the gateway’s own address', async (file) => {
    expect((await get(`/docs/${file}`)).json()).toMatchObject({
      openapi: '3.1.0',
      servers: [{ url: 'https://esim.example.com/prefix' }],
    })
  })
})

describe('the Markdown files', () => {
  test('every link points to an existing file and heading', () => {
    const dead: string[] = []
    for (const path of markdownFiles()) {
      for (const href of linksOf(path)) {
        if (/^[a-z][a-z0-9+.-]*:/i.test(href)) continue
        const [to = '', hash] = href.split('#')
        const target = to === '' ? path : posix.join(posix.dirname(path), decodeURI(to))
        if (!existsSync(join(root, target))) dead.push(`${path}: ${href}`)
        else if (hash && target.endsWith('.md') && !headingsOf(target).includes(hash))
          dead.push(`${path}: ${href} (no such heading)`)
      }
    }
    expect(dead).toEqual([])
  })

  test('docs/limits.md states the limits in the contract', () => {
    const text = readFileSync(join(root, 'docs/limits.md'), 'utf8')
    const row = (start: string) => text.split('\n').find((line) => line.startsWith(`| ${start} |`)) ?? ''
    const documented: [string, string][] = [
      ['requests per second of one account', `${limits.QPS_LIMIT_DEFAULT}`],
      ['request body', `${limits.BODY_SIZE_MAX_BYTES / 1024} KiB`],
      ['nesting of a body', `${limits.JSON_DEPTH_MAX} levels`],
      ['clock', `±${limits.CLOCK_WINDOW_MS / 1000} s`],
      ['lines in an order', `${limits.ORDER_LINES_MAX}`],
      ['eSIMs in a line', `${limits.LINE_COUNT_MAX}`],
      ['eSIMs in an order', `${limits.ORDER_ESIMS_MAX}`],
      ['`transactionId`', `1 to ${limits.TRANSACTION_ID_LENGTH_MAX}`],
      ['`remark`', `${limits.REMARK_LENGTH_MAX} characters`],
      ['`keyword`', `${limits.KEYWORD_LENGTH_MAX} characters`],
      ['`callbackUrl`', `${limits.CALLBACK_URL_LENGTH_MAX} characters`],
      ['rows on a page', `${limits.PAGE_SIZE_MAX}; ${limits.PAGE_SIZE_DEFAULT} where`],
      ['answer to an event', `${limits.EVENT_TIMEOUT_MS / 1000} s`],
      ['answer to the test event of `webhook/set`', `${limits.CHECK_HEALTH_TIMEOUT_MS / 1000} s`],
      ['test events', `one at a time, ${limits.CHECK_HEALTH_PER_MINUTE_MAX} a minute`],
    ]
    for (const [name, limit] of documented) expect(row(name), name).toContain(`| ${limit}`)
  })

  test('no guide is longer than 2 000 words', () => {
    for (const path of markdownFiles().filter((each) => /^docs\/[^/]*\.md$/.test(each))) {
      if (path === 'docs/codes.md') continue
      const words = readFileSync(join(root, path), 'utf8').split(/\s+/).length
      expect(words, path).toBeLessThan(2_000)
    }
  })
})

function markdownFiles(): string[] {
  const under = (folder: string): string[] =>
    readdirSync(join(root, folder), { withFileTypes: true }).flatMap((entry) => {
      const path = folder === '' ? entry.name : `${folder}/${entry.name}`
      if (entry.isDirectory()) return /^(node_modules|dist.*|\..*)$/.test(entry.name) ? [] : under(path)
      return path.endsWith('.md') ? [path] : []
    })
  return under('')
}

const engine = new MarkdownIt()

function linksOf(path: string): string[] {
  const inline = engine.parse(readFileSync(join(root, path), 'utf8'), {}).flatMap((token) => token.children ?? [])
  return inline.filter((token) => token.type === 'link_open').map((token) => String(token.attrGet('href')))
}

function headingsOf(path: string): string[] {
  const tokens = engine.parse(readFileSync(join(root, path), 'utf8'), {})
  return tokens.flatMap((token, at) => {
    if (token.type !== 'heading_open') return []
    const text = (tokens[at + 1]?.children ?? []).map((child) => child.content).join('')
    return [headingId(text)]
  })
}

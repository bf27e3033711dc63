import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import * as limits from '@dealer-esim/contract'
import { systemClock } from '@dealer-esim/lib/clock.ts'
import { silentLog } from '@dealer-esim/lib/telemetry/log.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import MarkdownIt from 'markdown-it'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { plainFailures } from '#http/public-pages.ts'
import { documentsRoot } from '#platform/package-root.ts'
import { findDocsFiles } from './docs-files.ts'
import { headingId } from './docs-markdown.ts'
import { NAVIGATION, partOf } from './docs-navigation.ts'
import { addDocsRoutes, type DocsDeps } from './docs-routes.ts'
import type { DocsBrand } from './docs-site.ts'

const root = documentsRoot()
let app: FastifyInstance
let dealersApp: FastifyInstance
let brandedApp: FastifyInstance

/** @param more what differs from a gateway that shows everything to everybody, and has no brand */
async function serve(more: Partial<DocsDeps> = {}): Promise<FastifyInstance> {
  const served = Fastify()
  plainFailures(served, { log: silentLog })
  const links = { publicUrl: 'https://esim.example.com/prefix' }
  addDocsRoutes(served, {
    links,
    audience: 'all',
    brand: async () => undefined,
    isOperators: async () => false,
    clock: systemClock,
    callerOf: ({ headers }) => String(headers['x-caller']),
    ...more,
  })
  await served.ready()
  return served
}

beforeAll(async () => {
  app = await serve()
  dealersApp = await serve({ audience: 'dealers', isOperators: async ({ headers }) => headers.cookie === 'operator' })
  brandedApp = await serve({ brand: async () => MERIDIAN })
})
afterAll(() => Promise.all([app, dealersApp, brandedApp].map((each) => each.close())))

const MERIDIAN: DocsBrand = {
  name: 'Meridian <Mobile>',
  logoLight: 'brand/light.png',
  logoDark: 'brand/dark.png',
  icon: 'brand/icon.png',
  colours: { light: { text: '#123456' }, dark: { text: '#abcdef' } },
}

const get = (url: string, headers: Record<string, string> = {}, from = app) =>
  from.inject({ method: 'GET', url, headers })

/** The links and pictures of a page. */
const links = (html: string) =>
  [...html.matchAll(/<(?:a|link) [^>]*?href="([^"]*)"|<[a-z]+ [^>]*?src="([^"]*)"/g)].map(([, href, src]) =>
    (href ?? src ?? '').replaceAll('&amp;', '&'),
  )

const crawled = new Map<FastifyInstance, Promise<Map<string, string>>>()

/** Every page that can be reached from the first, in every language, with its HTML. */
function crawl(from = app): Promise<Map<string, string>> {
  if (!crawled.has(from)) crawled.set(from, crawlFrom(from))
  return crawled.get(from)!
}

async function crawlFrom(from: FastifyInstance): Promise<Map<string, string>> {
  const seen = new Map<string, string>()
  const queue = ['/docs/', '/docs/zh-Hans/']
  for (let at = queue.shift(); at !== undefined; at = queue.shift()) {
    if (seen.has(at)) continue
    const answer = await get(at, {}, from)
    if (at === '/docs/language') continue // remembers a choice, and redirects
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

  test('pages have one script, none inside, and load nothing from other hosts', async () => {
    for (const [at, html] of await crawl()) {
      const loads = [...html.matchAll(/<(?:link|script|img|iframe|source|video|audio)\b[^>]*?(?:href|src)="([^"]*)"/g)]
      for (const [, from = ''] of loads) expect(from, at).not.toMatch(/^([a-z]+:)?\/\//i)
      expect(html, at).not.toMatch(/@import|url\(/)
      if (at === '/docs/reference' || html === '') continue
      expect(html, at).not.toMatch(/<style|\son\w+=/)
      expect(html.match(/<script.*/g), at).toEqual([expect.stringMatching(/docs\.js\?v=[\w-]+" defer><\/script>$/)])
    }
    expect((await get('/docs/docs.css')).body).not.toMatch(/@import|url\(|https?:/)
  })

  test('every answer has a strict content security policy', async () => {
    const policy = async (url: string) => String((await get(url)).headers['content-security-policy'])
    for (const url of ['/docs/', '/docs/signing', '/docs/docs.css', '/docs/samples/python/sign.py', '/docs/nothing']) {
      expect(await policy(url)).toMatch(
        /^default-src 'none'; script-src 'self'; connect-src 'self'; style-src 'self'; img-src 'self'; base-uri 'none'/,
      )
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
    expect((await get('/docs/a/b')).body).toContain('href="../docs.css?v=')
  })

  test('a path with thousands of slashes gets a one-line answer', async () => {
    for (const url of [`/docs/${'a/'.repeat(5_000)}`, `/docs/${'/'.repeat(5_000)}`]) {
      const answer = await get(url)
      expect([answer.statusCode, answer.headers['content-type']]).toEqual([404, 'text/plain; charset=utf-8'])
      expect(answer.rawPayload.length).toBeLessThan(10_000)
    }
  })

  test('every page is listed in the navigation, once, or is part of a folder', () => {
    const { pages } = findDocsFiles()
    const listed = Object.values(NAVIGATION).flatMap((groups) => groups.flatMap((group) => group.pages))
    expect(new Set(listed).size).toBe(listed.length)
    expect(listed.filter((address) => !pages.has(address))).toEqual(['reference'])
    const english = [...pages.values()].filter(({ language }) => language === 'en').map(({ name }) => name)
    const others = english.filter((name) => !listed.includes(name))
    expect(others.filter((name) => !/^(decisions|releases)\/./.test(name))).toEqual([])
  })

  test('raw HTML in a document is shown as text', async () => {
    for (const [at, html] of await crawl()) expect(html, at).not.toMatch(/<(iframe|object|embed)\b/)
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

const WHOLESALERS = /airalo|esim access|esim-access|esim go|esim-go|mobimatter|zendit/i

describe('a gateway that keeps its own part from dealers', () => {
  test('answers 404 for pages of the operator, in each form and language, and for what only they show', async () => {
    const names = NAVIGATION.operators.flatMap(({ pages }) => pages)
    expect(names).toEqual(expect.arrayContaining(['operators', 'suppliers', 'airalo', 'changelog']))
    const hidden = ['zh-Hans/suppliers', 'suppliers.md', 'decisions/0005-ledger', 'images/order-light-desktop.png.md']
    for (const name of [...names, ...hidden]) {
      const { statusCode } = await get(`/docs/${name}`, {}, dealersApp)
      expect([name, statusCode]).toEqual([name, 404])
    }
  })

  test('has no dead link, and names no wholesaler', async () => {
    const pages = await crawl(dealersApp)
    expect(pages.size).toBeGreaterThan(60)
    for (const [at, html] of pages) {
      expect(html.match(WHOLESALERS), at).toBeNull()
      for (const href of links(html)) {
        const { pathname, hash, host } = new URL(href, `http://docs.test${at}`)
        const target = pages.get(pathname)
        if (host !== 'docs.test' || hash === '' || !target) continue
        expect(target, `${href} on ${at}`).toContain(`id="${decodeURIComponent(hash.slice(1))}"`)
      }
    }
    for (const file of [
      'llms.txt',
      'index.md',
      'catalogue.md',
      'money.md',
      'openapi.json',
      'postman.json',
      'zh-Hans/index.md',
    ])
      expect((await get(`/docs/${file}`, {}, dealersApp)).body.match(WHOLESALERS), file).toBeNull()
  })

  test('drops the sections for operators, and shows links to hidden pages as text', async () => {
    const { body } = await get('/docs/catalogue', {}, dealersApp)
    expect(body).toContain('Keep a copy')
    expect(body).not.toMatch(/package set|For operators/)
    const money = await get('/docs/money.md', {}, dealersApp)
    expect(money.body).not.toContain('tenant create')
    const signing = await get('/docs/signing', {}, dealersApp)
    expect(signing.body).toContain('A decision record gives')
  })

  test('finds no hidden page', async () => {
    for (const query of ['airalo', 'supplier stock', 'backup database', 'tenant create']) {
      const { body } = await get(`/docs/search?q=${encodeURIComponent(query)}`, {}, dealersApp)
      const found = links(body.slice(body.indexOf('<main'), body.indexOf('</main>'))).map((href) => href.split('#')[0]!)
      expect(found.filter((name) => partOf(name) === 'operators')).toEqual([])
      expect(body.slice(body.indexOf('<main')).replaceAll(query, '')).not.toMatch(WHOLESALERS)
    }
  })

  test('shows everything to the operator’s own people, in answers that no proxy may share', async () => {
    const answer = await get('/docs/suppliers', { cookie: 'operator' }, dealersApp)
    expect(answer.statusCode).toBe(200)
    expect(answer.headers.vary).toMatch(/\bCookie\b/)
    expect(answer.headers['cache-control']).toBe('no-cache')
    expect((await get('/docs/suppliers', {}, dealersApp)).statusCode).toBe(404)
  })
})

describe('the brand of the operator', () => {
  test('is on every page: name, logos, icon and accent', async () => {
    for (const at of ['/docs/', '/docs/zh-Hans/signing', '/docs/search?q=x', '/docs/decisions/', '/docs/nothing']) {
      const { body } = await get(at, {}, brandedApp)
      expect(body, at).toMatch(/<title>.*Meridian &lt;Mobile&gt;<\/title>/)
      expect(body, at).toContain('<span>Meridian &lt;Mobile&gt;</span>')
      const pictures = links(body).map((href) => new URL(href, `http://docs.test${at}`).pathname)
      expect(pictures, at).toEqual(expect.arrayContaining(['/brand/light.png', '/brand/icon.png']))
      expect(body, at).toMatch(/srcset="[./]*brand\/dark\.png" media="\(prefers-color-scheme: dark\)"/)
      expect(body, at).not.toContain('Dealer eSIM</span>')
    }
    const css = (await get('/docs/docs.css', {}, brandedApp)).body
    expect(css.indexOf('--accent: #123456')).toBeGreaterThan(css.indexOf('--accent: #1b6a5c'))
    expect(css).toContain('--accent: #abcdef')
    expect((await get('/docs/reference', {}, brandedApp)).body).toContain('Meridian &lt;Mobile&gt;')
    expect((await get('/docs/llms.txt', {}, brandedApp)).body).toMatch(/^# Meridian <Mobile>\n/)
  })

  test('holds for the next page after a change', async () => {
    let name = 'Before'
    const changing = await serve({ brand: async () => ({ name }) })
    expect((await get('/docs/signing', {}, changing)).body).toContain('<span>Before</span>')
    name = 'After'
    expect((await get('/docs/signing', {}, changing)).body).toContain('<span>After</span>')
    await changing.close()
  })
})

test('searches of one address wait for each other, and too many are refused while others are answered', async () => {
  const searchOf = (caller: string) => get('/docs/search?q=signature', { 'x-caller': caller })
  const eager = Array.from({ length: 20 }, () => searchOf('eager'))
  expect((await searchOf('patient')).statusCode).toBe(200)
  const refused = (await Promise.all(eager)).filter(({ statusCode }) => statusCode === 429)
  expect(refused.map(({ headers }) => headers['retry-after'])).toEqual(['2', '2', '2'])
  expect(refused[0]!.body).toMatch(/^You have sent too many requests/)
})

describe('what is cached', () => {
  test('scripts and styles are kept for ever at the address of their content, and only there', async () => {
    const versioned = [...(await get('/docs/signing')).body.matchAll(/"(docs\.[a-z]+\?v=[^"]+)"/g)].map(
      ([, href]) => href!,
    )
    const reference = await get('/docs/reference')
    const scripts = [...reference.body.matchAll(/<script src="([^"]+)"/g)].map(([, src]) => src!)
    expect([versioned.length, scripts.length]).toEqual([2, 2])
    for (const href of [...versioned, ...scripts]) {
      const cached = async (url: string) => (await get(`/docs/${url}`)).headers['cache-control']
      expect([href, await cached(href)]).toEqual([href, 'public, max-age=31536000, immutable'])
      expect(await cached(href.replace(/v=.*/, 'v=another'))).toBe('no-cache')
    }
  })
})

describe('the Markdown files', () => {
  test('every link points to an existing file and heading', () => {
    const dead: string[] = []
    // Translations have the links of the English page, which are resolved from its path.
    for (const path of markdownFiles().filter((each) => !each.startsWith('docs/zh-Hans/'))) {
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

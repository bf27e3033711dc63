import { systemClock } from '@dealer-esim/lib/clock.ts'
import Fastify, { type FastifyInstance } from 'fastify'
import MarkdownIt from 'markdown-it'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { findDocsFiles, markdownAddress } from './docs-files.ts'
import type { Audience } from './docs-navigation.ts'
import { addDocsRoutes } from './docs-routes.ts'

const apps = new Map<Audience, FastifyInstance>()
beforeAll(async () => {
  for (const audience of ['all', 'dealers'] as const) {
    const app = Fastify()
    const [brand, isOperators] = [async () => undefined, async () => false]
    const from = { clock: systemClock, callerOf: () => '' }
    addDocsRoutes(app, { links: { publicUrl: '' }, audience, brand, isOperators, ...from })
    await app.ready()
    apps.set(audience, app)
  }
})
afterAll(() => Promise.all([...apps.values()].map((app) => app.close())))

const get = (audience: Audience, url: string, headers: Record<string, string> = {}) =>
  apps.get(audience)!.inject({ method: 'GET', url, headers })

describe.each(['all', 'dealers'] as const)('documentation for %s', (audience) => {
  test('has each page as Markdown, whose links lead to existing files', async () => {
    const { pages } = findDocsFiles(audience)
    const texts = new Map<string, string>()
    for (const page of pages.values()) {
      const at = `/docs/${markdownAddress(page)}`
      const answer = await get(audience, at)
      expect([at, answer.statusCode, answer.headers['content-type']]).toEqual([at, 200, 'text/markdown; charset=utf-8'])
      texts.set(at, answer.body)
    }
    expect(texts.size).toBeGreaterThan(50)
    const exists = new Set(texts.keys())
    for (const [at, text] of texts) {
      for (const href of linksOf(text)) {
        const { pathname, host } = new URL(href, `http://docs.test${at}`)
        if (host !== 'docs.test' || exists.has(pathname)) continue
        expect([at, href, (await get(audience, pathname)).statusCode]).toEqual([at, href, 200])
        exists.add(pathname)
      }
    }
  })

  test('lists each page of the navigation in llms.txt, as Markdown', async () => {
    const { body, headers } = await get(audience, '/docs/llms.txt')
    expect(headers['content-type']).toBe('text/plain; charset=utf-8')
    const hrefs = linksOf(body)
    expect(hrefs).toEqual(expect.arrayContaining(['index.md', 'signing.md', 'samples/README.md', 'openapi.json']))
    expect(hrefs.includes('suppliers.md')).toBe(audience === 'all')
    for (const href of hrefs) expect([href, (await get(audience, `/docs/${href}`)).statusCode]).toEqual([href, 200])
  })
})

test('a program that accepts Markdown gets it at the address of the page, and code blocks unchanged', async () => {
  const answer = await get('all', '/docs/signing', { accept: 'text/markdown, text/html;q=0.5' })
  expect(answer.headers).toMatchObject({ 'content-type': 'text/markdown; charset=utf-8' })
  expect(answer.headers.vary).toMatch(/\bAccept\b/)
  expect(answer.body).toContain('[samples](samples/README.md)')
  expect(answer.body).toContain('npx dealer-esim sign esim/query \'{"transactionId":"T-1"}\'')
  expect((await get('all', '/docs/signing')).headers['content-type']).toBe('text/html; charset=utf-8')
})

test('/llms.txt leads to that of the documentation', async () => {
  const { statusCode, headers } = await get('all', '/llms.txt')
  expect([statusCode, headers.location]).toEqual([302, 'docs/llms.txt'])
})

const engine = new MarkdownIt()

function linksOf(markdown: string): string[] {
  const inline = engine.parse(markdown, {}).flatMap((token) => token.children ?? [])
  return inline.flatMap((token) => {
    const href =
      token.type === 'link_open' ? token.attrGet('href') : token.type === 'image' ? token.attrGet('src') : null
    return href === null ? [] : [String(href)]
  })
}

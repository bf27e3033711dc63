import { expect, it } from 'vitest'
import { airaloSupplier } from './airalo/airalo.ts'
import { esimAccessSupplier } from './esim-access/esim-access.ts'
import { esimGoSupplier } from './esim-go/esim-go.ts'
import { mobimatterSupplier } from './mobimatter/mobimatter.ts'
import type { Supplier } from './supplier.ts'
import { zenditSupplier } from './zendit/zendit.ts'

/*
 * What operators read where a wholesaler, or a proxy in front of it, answers in another form than that of the interface: the
 * message of the answer, or the title of the page.
 */

const config = { url: 'https://wholesaler.example' }
const KINDS: [kind: string, create: (deps: never) => Supplier][] = [
  ['airalo', (deps) => airaloSupplier('a', { ...config, clientId: 'c', clientSecret: 's' }, deps)],
  ['esim-access', (deps) => esimAccessSupplier('b', { ...config, accessCode: 'c', secretKey: 's' }, deps)],
  ['esim-go', (deps) => esimGoSupplier('c', { ...config, apiKey: 'k' }, deps)],
  ['mobimatter', (deps) => mobimatterSupplier('d', { ...config, apiKey: 'k', merchantId: 'm' }, deps)],
  ['zendit', (deps) => zenditSupplier('e', { ...config, apiKey: 'k' }, deps)],
]

/** A supplier whose every request but that of a token is answered so. */
function answeredBy(create: (deps: never) => Supplier, status: number, body: string): Supplier {
  const token = JSON.stringify({ data: { access_token: 'token', expires_in: 3_600 } })
  const request = async ({ url }: { url: string }) => {
    const isToken = url.endsWith('/token')
    const content = Buffer.from(isToken ? token : body)
    return { kind: 'answer', status: isToken ? 200 : status, headers: {}, body: content, truncated: false }
  }
  const rows: Record<string, unknown[]> = {
    'supplier-rate': [{ waitMs: 0, tookMs: 0 }],
    'supplier-token-claim': [{}],
  }
  return create({
    outbound: { request },
    db: { query: async ({ name = '' }: { name?: string }) => rows[name] ?? [] },
    cipher: { encrypt: () => Buffer.alloc(0) },
    ids: { uuid: () => '01a0b1c2-0000-7000-8000-000000000000' },
  } as never)
}

async function messagesOf(supplier: Supplier): Promise<string[]> {
  const balance = await supplier.balance!()
  return [(await supplier.test()) ?? '', balance.kind === 'silent' ? balance.message : '']
}

const TOO_MANY = '{"message":"Too Many Attempts."}'
const SERVER_ERROR = '{"message":"Server Error"}'
const page = (title: string) => `<!DOCTYPE html><html><head><title>${title}</title></head><body>…</body></html>`

it.each(KINDS)('%s: the text of an unusually formatted refusal is quoted', async (_, create) => {
  for (const [status, body, text] of [
    [429, TOO_MANY, 'Too Many Attempts'],
    [500, SERVER_ERROR, 'Server Error'],
    [502, page('Bad gateway | Cloudflare'), 'Bad gateway | Cloudflare'],
  ] as const) {
    for (const message of await messagesOf(answeredBy(create, status, body))) {
      expect(message).toContain(text)
      expect(message).not.toMatch(/no readable body|without a valid answer|\.\./)
    }
  }
})

it.each(KINDS)('%s: a rate limit error is not blamed on the url or the credentials', async (_, create) => {
  const message = await answeredBy(create, 429, TOO_MANY).test()
  expect(message).toMatch(/^(Busy|Limit|status 429)/)
  expect(message).not.toMatch(/Credentials|Check the url|Check url/)
})

it.each(KINDS)('%s: a page that refuses this gateway is not blamed on the credentials', async (_, create) => {
  const message = await answeredBy(create, 403, page('Attention Required! | Cloudflare')).test()
  expect(message).toMatch(/^Address: .*Attention Required! \| Cloudflare.*\baddress\b/)
  expect(message).not.toMatch(/Credentials|apiKey|API key|clientId/)
})

import { createHash, createHmac } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { describe, expect, onTestFinished, test } from 'vitest'
import { command } from '#test/command.ts'
import { APP_SECRET, EVENT, signedEvent } from '#test/signed-event.ts'

const SECRET = 'qL3v-demo_secret'
const KEY = 'demo_app_key'
const ID = '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11'
const AT = '1700000000000'
const BODY = '{"transactionId":"T-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}]}'
const env = { DEALER_ESIM_APP_KEY: KEY, DEALER_ESIM_APP_SECRET: SECRET }

const hmac = (text: string, key: string | Buffer = SECRET, hash = 'sha256') =>
  createHmac(hash, key).update(text).digest()

interface Parts {
  signature?: string
  body?: string
  headers?: Record<string, string>
  start?: string
}

function requestText({
  signature = hmac(AT + ID + KEY + BODY).toString('hex'),
  body = BODY,
  headers = {},
  start,
}: Parts) {
  const all = {
    'Content-Type': 'application/json',
    'RT-AccessCode': KEY,
    'RT-RequestID': ID,
    'RT-Timestamp': AT,
    'X-Signature': signature,
    ...headers,
  }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}`)
  return `${start ?? 'POST /open-api/v1/esim/order HTTP/1.1'}\r\n${lines.join('\r\n')}\r\n\r\n${body}`
}

async function verdict(text: string, ...more: string[]) {
  const { code, out } = await command(['verify', '--json', '--at', AT, ...more], { env, stdin: text })
  return {
    exit: code,
    ...(JSON.parse(out) as {
      passed: boolean
      code?: string
      findings: { check: string; passed?: boolean; words: string }[]
    }),
  }
}

async function failed(text: string, ...more: string[]) {
  const { findings, code, exit } = await verdict(text, ...more)
  expect(exit).toBe(1)
  const first = findings.find((each) => each.passed === false)
  return { code, check: first?.check, words: first?.words ?? '' }
}

test('a correct request passes every check', async () => {
  expect(await verdict(requestText({}))).toMatchObject({ exit: 0, passed: true })
})

test('a request can be parsed from curl -v, from header lines alone, and from JSON', async () => {
  const [head = ''] = requestText({}).split('\r\n\r\n')
  const curl = `${head
    .split('\r\n')
    .map((line) => `> ${line}`)
    .join('\n')}\n>\n${BODY}`
  expect((await verdict(curl)).passed).toBe(true)
  const headers = { 'rt-accesscode': KEY, 'rt-requestid': ID, 'rt-timestamp': AT, 'content-type': 'application/json' }
  const signature = hmac(AT + ID + KEY + BODY).toString('hex')
  expect(
    (await verdict(JSON.stringify({ headers: { ...headers, 'x-signature': signature }, body: BODY }))).passed,
  ).toBe(true)
  expect((await command(['verify'], { env, stdin: 'hello' })).code).toBe(2)
})

test('the request is parsed from the complete curl -v output, and its body from --body', async () => {
  const [head = ''] = requestText({ headers: { 'Content-Length': String(BODY.length) } }).split('\r\n\r\n')
  const sent = head.split('\r\n').map((line) => `> ${line}`)
  const output = [
    '* Connected to localhost',
    ...sent,
    '> ',
    '} [79 bytes data]',
    '< HTTP/1.1 401',
    '< Date: now',
    '',
    '{}',
  ]
  const file = join(mkdtempSync(join(tmpdir(), 'dealer-esim-curl-')), 'body.json')
  onTestFinished(() => rmSync(dirname(file), { recursive: true }))
  writeFileSync(file, BODY)
  expect((await verdict(output.join('\n'), '--body', file)).passed).toBe(true)
  const without = await command(['verify', '--at', AT], { env, stdin: output.join('\n') })
  expect([without.code, without.err]).toEqual([2, expect.stringContaining('add --body FILE')])
})

describe('the first failed check is named', () => {
  test.each([
    ['a wrong path', { start: 'POST /api/v1/esim/order HTTP/1.1' }, 'path', '000109'],
    ['a GET', { start: 'GET /open-api/v1/health HTTP/1.1' }, 'method', '000103'],
    ['a form', { headers: { 'Content-Type': 'application/x-www-form-urlencoded' } }, 'content type', '000110'],
    ['a timestamp in seconds', { headers: { 'RT-Timestamp': '1700000000' } }, 'headers', '000102'],
    ['a repeated header', { headers: { 'rt-requestid': ID } }, 'headers', '000102'],
    ['another AppKey', { headers: { 'RT-AccessCode': 'somebody_else' } }, 'AppKey', '101004'],
    ['a body that is not JSON', { signature: hmac(`${AT}${ID}${KEY}{`).toString('hex'), body: '{' }, 'JSON', '000104'],
    [
      'a mistyped member',
      { signature: hmac(`${AT}${ID}${KEY}{"transactionID":"T"}`).toString('hex'), body: '{"transactionID":"T"}' },
      'parameters',
      '000105',
    ],
  ])('%s', async (_name, parts, check, code) => {
    expect(await failed(requestText(parts as Parts))).toMatchObject({ check, code })
  })

  test('a stale timestamp, with its offset', async () => {
    const now = String(Number(AT) + 20 * 60_000)
    const { check, code, words } = await failed(requestText({}), '--at', now)
    expect([check, code]).toEqual(['clock', '101001'])
    expect(words).toMatch(/20 min before this machine's time/)
  })
})

describe('a mismatch is explained', () => {
  const spaced = BODY.replaceAll(':', ': ').replaceAll(',', ', ')
  const signed = (base: string, key?: string | Buffer, hash?: string) => hmac(base, key, hash).toString('hex')
  test.each<[string, Parts, RegExp]>([
    ['serialised again', { signature: signed(AT + ID + KEY + spaced) }, /serialised again .*\(spaces after/],
    ['signed compact, sent spaced', { body: spaced }, /serialised again .*\(without spaces/],
    ['a line break after the body', { signature: signed(`${AT}${ID}${KEY}${BODY}\n`) }, /\(a line break at its end/],
    [
      'a line break from the file',
      { body: `${BODY}\n` },
      /\(no line break at its end\).*the request itself is correct/,
    ],
    ['no body signed', { signature: signed(AT + ID + KEY) }, /body that was sent was not signed/],
    [
      'the secret decoded',
      { signature: signed(AT + ID + KEY + BODY, Buffer.from(SECRET, 'base64url')) },
      /decoded first \(from Base64\)/,
    ],
    [
      'the secret with a line break',
      { signature: signed(AT + ID + KEY + BODY, `${SECRET}\n`) },
      /white space at its end \(a line break\)/,
    ],
    [
      'the AppKey as the secret',
      { signature: signed(AT + ID + KEY + BODY, KEY) },
      /not the AppSecret itself \(the AppKey\)/,
    ],
    ['another order', { signature: signed(KEY + ID + AT + BODY) }, /another order \(the AppKey first\)/],
    ['separators', { signature: signed(`${AT}\n${ID}\n${KEY}\n${BODY}`) }, /with a separator \(line breaks\)/],
    ['the path signed', { signature: signed(`${AT}${ID}${KEY}/open-api/v1/esim/order${BODY}`) }, /path was signed too/],
    ['seconds signed', { signature: signed(`1700000000${ID}${KEY}${BODY}`) }, /\(the timestamp in seconds\)/],
    ['two mistakes', { signature: signed(KEY + ID + AT + spaced) }, /there are several differences/],
    ['Base64', { signature: hmac(AT + ID + KEY + BODY).toString('base64') }, /not an HMAC-SHA256 in hex \(Base64\)/],
    ['SHA-1', { signature: signed(AT + ID + KEY + BODY, SECRET, 'sha1') }, /not an HMAC-SHA256 in hex \(SHA-1\)/],
    [
      'a plain hash',
      {
        signature: createHash('sha256')
          .update(AT + ID + KEY + BODY + SECRET)
          .digest('hex'),
      },
      /\(a plain SHA-256/,
    ],
    ['something else', { signature: signed('something else') }, /No single common mistake explains it/],
  ])('%s', async (_name, parts, words) => {
    expect((await failed(requestText(parts))).words).toMatch(words)
  })

  test('the secret is never shown', async () => {
    const { out } = await command(['verify', '--at', AT], {
      env,
      stdin: requestText({ signature: signed('something else') }),
    })
    expect(out).toContain('The gateway answers 101003.')
    expect(out).not.toContain(SECRET)
  })
})

describe('an event', () => {
  const input = { env: { DEALER_ESIM_APP_SECRET: APP_SECRET } }
  const text = ({ headers, body }: ReturnType<typeof signedEvent>) =>
    `${Object.entries(headers)
      .map(([name, value]) => `${name}: ${value}`)
      .join('\n')}\n\n${body}`

  test('is reported as genuine, with its type and notifyId', async () => {
    const { code, out } = await command(['verify'], { ...input, stdin: text(signedEvent()) })
    expect([code, out]).toEqual([0, expect.stringContaining(`ORDER_PAID ${EVENT.notifyId} is genuine`)])
  })

  test('is not checked with a secret that ends in a line break, and the error names the variable', async () => {
    const broken = { env: { DEALER_ESIM_APP_SECRET: `${APP_SECRET}\n` }, stdin: text(signedEvent()) }
    const { code, err } = await command(['verify'], broken)
    expect([code, err]).toEqual([2, expect.stringMatching(/^DEALER_ESIM_APP_SECRET .*line break: remove it/)])
  })

  test('whose body was serialised again fails with an explanation', async () => {
    const event = signedEvent()
    const changed = { ...event, body: JSON.stringify(JSON.parse(event.body), null, 2) }
    const { code, out } = await command(['verify'], { ...input, stdin: text(changed) })
    expect([code, out]).toEqual([1, expect.stringMatching(/before any JSON parser/)])
  })

  test('signed with a different secret fails both signature checks', async () => {
    const { code, out } = await command(['verify'], {
      ...input,
      stdin: text(signedEvent({ standard: ['another'], request: 'another' })),
    })
    expect(code).toBe(1)
    expect(out).toMatch(/✗ webhook-signature .*\n✗ X-Signature/)
  })
})

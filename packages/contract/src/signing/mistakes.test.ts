import { type BinaryToTextEncoding, createHash, createHmac } from 'node:crypto'
import { describe, expect, test } from 'vitest'
import { BODY_SIZE_MAX_BYTES } from '#limits.ts'
import { findSigningMistake, type MismatchedRequest, type MistakeId } from './mistakes.ts'

const AT = '1700000000000'
const ID = '7f9c24e8-3b1a-4e5d-9f10-2b6c8d0e4a11'
const KEY = 'demo_app_key'
const SECRET = 'qL3v-demo_secret'
const PATH = '/open-api/v1/esim/order'
const BODY = '{"transactionId":"T-1","packageInfoList":[{"packageCode":"JP_1_7","count":1}],"remark":"Zürich/1"}'
const SPACED = spaced(BODY)
const SORTED = '{"packageInfoList":[{"count":1,"packageCode":"JP_1_7"}],"remark":"Zürich/1","transactionId":"T-1"}'

interface Signing {
  key?: string | Buffer
  /** The text that was signed before the body. */
  head?: string
  /** The text that was signed as the body. */
  text?: string
  hash?: string
  encoding?: BinaryToTextEncoding
  /** The body that was sent. */
  body?: string
  requestId?: string
  signature?: string
}

/** A request that is really signed with the mistakes of `signing`; none makes it right. */
function signed(signing: Signing): MismatchedRequest {
  const { key = SECRET, body = BODY, text = body, requestId = ID, head = AT + requestId + KEY } = signing
  const hmac = createHmac(signing.hash ?? 'sha256', key).update(head + text)
  const { signature = hmac.digest(signing.encoding ?? 'hex') } = signing
  return { timestamp: AT, requestId, appKey: KEY, secret: SECRET, path: PATH, body, signature }
}

/** The strings of the text must contain neither sign. */
function spaced(compact: string): string {
  return compact.replaceAll(':', ': ').replaceAll(',', ', ')
}

const pretty = (indent: number | string) => JSON.stringify(JSON.parse(BODY), null, indent)
const plainHash = (secret: string | Buffer) =>
  createHash('sha256')
    .update(AT + ID + KEY + BODY)
    .update(secret)
    .digest('hex')

/** The twelve mistakes, each in every form that is recognised, with a part of the message. */
const MISTAKES: Record<MistakeId, [message: string, signing: Signing][]> = {
  secretDecoded: [['decoded first (from Base64)', { key: Buffer.from(SECRET, 'base64url') }]],
  secretNotTrimmed: [
    ['(a line break)', { key: `${SECRET}\n` }],
    ['(a line break)', { key: `${SECRET}\r\n` }],
    ['(a space)', { key: `${SECRET} ` }],
  ],
  otherKey: [
    ['(the AppKey)', { key: KEY }],
    ['(the whsec_ form', { key: `whsec_${Buffer.from(SECRET).toString('base64')}` }],
  ],
  separated: [
    ['(line breaks)', { head: `${AT}\n${ID}\n${KEY}\n` }],
    ['(&)', { head: `${AT}&${ID}&${KEY}&` }],
    ['(commas)', { head: `${AT},${ID},${KEY},` }],
    ['(dots)', { head: `${AT}.${ID}.${KEY}.` }],
    ['(colons)', { head: `${AT}:${ID}:${KEY}:` }],
    ['(|)', { head: `${AT}|${ID}|${KEY}|` }],
    ['(spaces)', { head: `${AT} ${ID} ${KEY} ` }],
  ],
  otherOrder: [
    ['(the AppKey before the RequestID)', { head: AT + KEY + ID }],
    ['(the RequestID before the timestamp)', { head: ID + AT + KEY }],
    ['(the AppKey first)', { head: KEY + ID + AT }],
    ['(the AppKey first)', { head: KEY + AT + ID }],
    ['(the RequestID first)', { head: ID + KEY + AT }],
  ],
  partLeftOut: [
    ['(RT-AccessCode)', { head: AT + ID }],
    ['(RT-RequestID)', { head: AT + KEY }],
  ],
  headerRewritten: [
    ['(the timestamp in seconds)', { head: `1700000000${ID}${KEY}` }],
    ['(the RequestID in lower case)', { head: AT + ID + KEY, requestId: ID.toUpperCase() }],
    ['(the RequestID in upper case)', { head: AT + ID.toUpperCase() + KEY }],
    ['(the RequestID without hyphens)', { head: `${AT}7f9c24e83b1a4e5d9f102b6c8d0e4a11${KEY}` }],
  ],
  pathSigned: [['The path was signed too', { head: AT + ID + KEY + PATH }]],
  bodyLeftOut: [
    ['(nothing in its place)', { text: '' }],
    ['({} in its place)', { text: '{}' }],
  ],
  lineBreaksChanged: [
    ['(no line break at its end)', { text: BODY, body: `${BODY}\n` }],
    ['(no line break at its end)', { text: BODY, body: `${BODY}\r\n` }],
    ['(a line break at its end', { text: `${BODY}\n` }],
    ['(LF for CRLF)', { text: pretty(2), body: pretty(2).replaceAll('\n', '\r\n') }],
    ['(CRLF for LF)', { text: pretty(2).replaceAll('\n', '\r\n'), body: pretty(2) }],
    ['(no byte-order mark)', { text: BODY, body: `\ufeff${BODY}` }],
  ],
  serialisedAgain: [
    ['(without spaces)', { text: BODY, body: SPACED }],
    ['(spaces after : and ,)', { text: SPACED }],
    ['(indented by 2)', { text: pretty(2) }],
    ['(indented by 4)', { text: pretty(4) }],
    ['(indented by tabs)', { text: pretty('\t') }],
    ['(members in alphabetical order)', { text: SORTED }],
    ['(members in alphabetical order, with spaces)', { text: spaced(SORTED) }],
    ['(letters outside ASCII as \\u escapes)', { text: BODY.replace('ü', '\\u00fc') }],
    ['(letters outside ASCII as \\u escapes, with spaces)', { text: SPACED.replace('ü', '\\u00fc') }],
    ['(\\/ for /)', { text: BODY.replace('/', '\\/') }],
  ],
  notHexHmacSha256: [
    ['(SHA-1)', { hash: 'sha1' }],
    ['(SHA-512)', { hash: 'sha512' }],
    ['(a plain SHA-256 with the secret at the end)', { signature: plainHash(SECRET) }],
    ['(Base64)', { encoding: 'base64' }],
    ['(Base64)', { encoding: 'base64url' }],
  ],
}

describe('a single mistake is found and its cure named', () => {
  const cases = Object.entries(MISTAKES).flatMap(([id, forms]) =>
    forms.map(([message, signing]) => [id, message, signing] as const),
  )
  test.each(cases)('%s: %s', async (id, message, signing) => {
    expect(await findSigningMistake(signed(signing))).toEqual({ id, message: expect.stringContaining(message) })
  })
})

test.each<[string, Signing]>([
  ['order and body', { head: KEY + ID + AT, text: SPACED }],
  ['secret and a missing part', { key: `${SECRET}\n`, head: AT + KEY }],
  ['secret and a plain hash', { signature: plainHash(Buffer.from(SECRET, 'base64url')) }],
  ['SHA-1 in Base64', { hash: 'sha1', encoding: 'base64' }],
  [
    'five at once',
    { key: `${SECRET} `, head: `${AT}|${ID}|${KEY}|`, text: pretty('\t'), hash: 'sha512', encoding: 'base64' },
  ],
])('several mistakes at once are not a single one: %s', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test.each<[string, Signing]>([
  ['another secret', { key: 'another' }],
  ['another body', { text: '{"transactionId":"T-2"}' }],
  ['another hash', { hash: 'sha384' }],
  ['a text that is not a digest', { signature: 'none' }],
])('no mistake explains %s', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test.each<[string, Signing]>([
  ['lower case', {}],
  ['upper case', { signature: signed({}).signature.toUpperCase() }],
])('a correct signature in %s has no mistake', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test('the bytes of the body count, and a body that no gateway accepts is not tried', async () => {
  const request = signed({ key: KEY })
  expect(await findSigningMistake({ ...request, body: Buffer.from(BODY) })).toMatchObject({ id: 'otherKey' })
  const large = 'x'.repeat(BODY_SIZE_MAX_BYTES + 1)
  expect(await findSigningMistake(signed({ key: KEY, body: large }))).toBeUndefined()
})

test('an empty secret, which Web Crypto rejects, is accepted', async () => {
  expect(await findSigningMistake({ ...signed({}), secret: '' })).toBeUndefined()
})

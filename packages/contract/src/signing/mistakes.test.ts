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
  /** The secret that is believed to be the key. */
  secret?: string
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

/** A request that is really signed with the mistakes in `signing`; with no mistakes it is signed correctly. */
function signed(signing: Signing): MismatchedRequest {
  const {
    secret = SECRET,
    key = SECRET,
    body = BODY,
    text = body,
    requestId = ID,
    head = AT + requestId + KEY,
  } = signing
  const hmac = createHmac(signing.hash ?? 'sha256', key).update(head + text)
  const { signature = hmac.digest(signing.encoding ?? 'hex') } = signing
  return { timestamp: AT, requestId, appKey: KEY, secret, path: PATH, body, signature }
}

/** The strings in the text must contain neither a colon nor a comma. */
function spaced(compact: string): string {
  return compact.replaceAll(':', ': ').replaceAll(',', ', ')
}

const pretty = (indent: number | string) => JSON.stringify(JSON.parse(BODY), null, indent)
const plainHash = (secret: string | Buffer) =>
  createHash('sha256')
    .update(AT + ID + KEY + BODY)
    .update(secret)
    .digest('hex')

/** The mistakes, each in every form that is recognised, with a part of the message. */
const MISTAKES: Record<MistakeId, [message: string, signing: Signing][]> = {
  secretDecoded: [['decoded first (from Base64)', { key: Buffer.from(SECRET, 'base64url') }]],
  secretNotTrimmed: [
    ['(a line break)', { key: `${SECRET}\n` }],
    ['(a line break)', { key: `${SECRET}\r\n` }],
    ['(a space)', { key: `${SECRET} ` }],
  ],
  secretQuoted: [
    ['(")', { key: `"${SECRET}"` }],
    ["(')", { key: `'${SECRET}'` }],
    ['(the AppSecret given here has them)', { secret: `"${SECRET}"` }],
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
    ['(\\u escapes outside ASCII)', { text: BODY.replace('ü', '\\u00fc') }],
    ['(as Python’s json.dumps writes it', { text: SPACED.replace('ü', '\\u00fc') }],
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

describe('a single mistake is identified, with its remedy', () => {
  const cases = Object.entries(MISTAKES).flatMap(([id, forms]) =>
    forms.map(([message, signing]) => [id, message, signing] as const),
  )
  test.each(cases)('%s: %s', async (id, message, signing) => {
    expect(await findSigningMistake(signed(signing))).toMatchObject({ id, message: expect.stringContaining(message) })
  })
})

/* Bodies as serialisers in other languages write them by default, each with the characters that differ. */
const SENT = String.raw`{"transactionId":"T/1é","remark":"<b>O'Neil & \"Söhne\"=1+${'`'}😀</b>"}`
test.each([
  [
    'PHP’s json_encode',
    String.raw`{"transactionId":"T\/1\u00e9","remark":"<b>O'Neil & \"S\u00f6hne\"=1+${'`'}\ud83d\ude00<\/b>"}`,
  ],
  [
    '.NET’s System.Text.Json',
    String.raw`{"transactionId":"T/1\u00E9","remark":"\u003Cb\u003EO\u0027Neil \u0026 \u0022S\u00F6hne\u0022=1\u002B\u0060\uD83D\uDE00\u003C/b\u003E"}`,
  ],
  [
    'Python’s json.dumps',
    String.raw`{"transactionId": "T/1\u00e9", "remark": "<b>O'Neil & \"S\u00f6hne\"=1+${'`'}\ud83d\ude00</b>"}`,
  ],
  [
    'Python’s json.dumps with sort_keys',
    String.raw`{"remark": "<b>O'Neil & \"S\u00f6hne\"=1+${'`'}\ud83d\ude00</b>", "transactionId": "T/1\u00e9"}`,
  ],
  [
    'Go’s encoding/json',
    String.raw`{"transactionId":"T/1é","remark":"\u003cb\u003eO'Neil \u0026 \"Söhne\"=1+${'`'}😀\u003c/b\u003e"}`,
  ],
  [
    'Go’s encoding/json writes a map',
    String.raw`{"remark":"\u003cb\u003eO'Neil \u0026 \"Söhne\"=1+${'`'}😀\u003c/b\u003e","transactionId":"T/1é"}`,
  ],
  [
    'Java’s Gson',
    String.raw`{"transactionId":"T/1é","remark":"\u003cb\u003eO\u0027Neil \u0026 \"Söhne\"\u003d1+${'`'}😀\u003c/b\u003e"}`,
  ],
  ['Java’s org.json', String.raw`{"transactionId":"T/1é","remark":"<b>O'Neil & \"Söhne\"=1+${'`'}😀<\/b>"}`],
  [
    'PHP’s json_encode with JSON_PRETTY_PRINT',
    '{\n    "transactionId": "T\\/1\\u00e9",\n    "remark": "<b>O\'Neil & \\"S\\u00f6hne\\"=1+`\\ud83d\\ude00<\\/b>"\n}',
  ],
  [
    '.NET’s System.Text.Json with WriteIndented',
    '{\r\n  "transactionId": "T/1\\u00E9",\r\n  "remark": "\\u003Cb\\u003EO\\u0027Neil \\u0026 \\u0022S\\u00F6hne\\u0022=1\\u002B\\u0060\\uD83D\\uDE00\\u003C/b\\u003E"\r\n}',
  ],
])('the diagnosis identifies the library that serialised the signed text: %s', async (name, text) => {
  const mistake = await findSigningMistake(signed({ body: SENT, text }))
  expect(mistake).toMatchObject({ id: 'serialisedAgain', message: expect.stringContaining(`(as ${name}`) })
  if (name.endsWith('map') || name.endsWith('sort_keys')) return // the order of the members is lost
  // Sent as that library wrote it, but signed as JSON.stringify writes it.
  expect((await findSigningMistake(signed({ body: text, text: SENT })))?.id).toBe('serialisedAgain')
})

test.each<[string, Signing]>([
  ['order and body', { head: KEY + ID + AT, text: SPACED }],
  ['secret and a missing part', { key: `${SECRET}\n`, head: AT + KEY }],
  ['secret and a plain hash', { signature: plainHash(Buffer.from(SECRET, 'base64url')) }],
  ['SHA-1 in Base64', { hash: 'sha1', encoding: 'base64' }],
  [
    'five together',
    { key: `${SECRET} `, head: `${AT}|${ID}|${KEY}|`, text: pretty('\t'), hash: 'sha512', encoding: 'base64' },
  ],
])('a combination of mistakes is not reported as one mistake: %s', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test.each<[string, Signing]>([
  ['another secret', { key: 'another' }],
  ['another body', { text: '{"transactionId":"T-2"}' }],
  ['another hash', { hash: 'sha384' }],
  ['a text that is not a digest', { signature: 'none' }],
])('the diagnosis finds no explanation for %s', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test.each<[string, Signing]>([
  ['lower case', {}],
  ['upper case', { signature: signed({}).signature.toUpperCase() }],
])('the diagnosis finds no mistake in a correct signature in %s', async (_name, signing) => {
  expect(await findSigningMistake(signed(signing))).toBeUndefined()
})

test('the diagnosis uses the exact bytes of the body, and skips a body that no gateway would accept', async () => {
  const request = signed({ key: KEY })
  expect(await findSigningMistake({ ...request, body: Buffer.from(BODY) })).toMatchObject({ id: 'otherKey' })
  const large = 'x'.repeat(BODY_SIZE_MAX_BYTES + 1)
  expect(await findSigningMistake(signed({ key: KEY, body: large }))).toBeUndefined()
})

test('an empty secret is accepted, although Web Crypto rejects it', async () => {
  expect(await findSigningMistake({ ...signed({}), secret: '' })).toBeUndefined()
})

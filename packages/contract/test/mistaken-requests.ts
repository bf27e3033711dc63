import { type BinaryToTextEncoding, createHash, createHmac } from 'node:crypto'
import type { Mistake, MistakeId } from '../src/signing/mistakes.ts'

/** A request that was really signed with the mistakes that it names: whoever explains mismatches is held to these. */
export interface MistakenRequest {
  name: string
  timestamp: string
  requestId: string
  appKey: string
  secret: string
  path: string
  /** As it was sent. */
  body: string
  signature: string
  mistakes: Mistake[]
}

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
  /** What was signed ahead of the body. */
  head?: string
  /** What was signed of the body. */
  text?: string
  hash?: string
  encoding?: BinaryToTextEncoding
  /** What was sent. */
  body?: string
  requestId?: string
  signature?: string
}

function sent(name: string, mistakes: Mistake[], signing: Signing): MistakenRequest {
  const { key = SECRET, body = BODY, text = body, requestId = ID, head = AT + requestId + KEY } = signing
  const hmac = createHmac(signing.hash ?? 'sha256', key).update(head + text)
  const { signature = hmac.digest(signing.encoding ?? 'hex') } = signing
  return { name, timestamp: AT, requestId, appKey: KEY, secret: SECRET, path: PATH, body, signature, mistakes }
}

/** Of a text without either sign in its strings. */
function spaced(compact: string): string {
  return compact.replaceAll(':', ': ').replaceAll(',', ', ')
}

const pretty = (indent: number | string) => JSON.stringify(JSON.parse(BODY), null, indent)
const separated = ['\n', '&', ',', '.', ':', '|', ' '].map((separator) => ({
  separator,
  head: [AT, ID, KEY, ''].join(separator),
}))

/** Every mistake by itself, in each form that it has. */
const SINGLE: Record<MistakeId, Signing[]> = {
  secretDecoded: [{ key: Buffer.from(SECRET, 'base64url') }],
  secretWithLineBreak: [{ key: `${SECRET}\n` }, { key: `${SECRET}\r\n` }],
  secretWithSpace: [{ key: `${SECRET} ` }],
  secretAsWhsec: [{ key: `whsec_${Buffer.from(SECRET).toString('base64')}` }],
  appKeyAsSecret: [{ key: KEY }],
  separated,
  appKeyBeforeRequestId: [{ head: AT + KEY + ID }],
  requestIdBeforeTimestamp: [{ head: ID + AT + KEY }],
  appKeyFirst: [{ head: KEY + ID + AT }, { head: KEY + AT + ID }],
  requestIdFirst: [{ head: ID + KEY + AT }],
  withoutAppKey: [{ head: AT + ID }],
  withoutRequestId: [{ head: AT + KEY }],
  timestampInSeconds: [{ head: `1700000000${ID}${KEY}` }],
  requestIdInLowerCase: [{ head: AT + ID + KEY, requestId: ID.toUpperCase() }],
  requestIdInUpperCase: [{ head: AT + ID.toUpperCase() + KEY }],
  requestIdWithoutHyphens: [{ head: `${AT}7f9c24e83b1a4e5d9f102b6c8d0e4a11${KEY}` }],
  pathSigned: [{ head: AT + ID + KEY + PATH }],
  withoutFinalLineBreak: [
    { text: BODY, body: `${BODY}\n` },
    { text: BODY, body: `${BODY}\r\n` },
  ],
  withFinalLineBreak: [{ text: `${BODY}\n` }],
  lineBreaksAsLf: [{ text: pretty(2), body: pretty(2).replaceAll('\n', '\r\n') }],
  lineBreaksAsCrlf: [{ text: pretty(2).replaceAll('\n', '\r\n'), body: pretty(2) }],
  withoutByteOrderMark: [{ text: BODY, body: `\ufeff${BODY}` }],
  bodyLeftOut: [{ text: '' }],
  emptyObject: [{ text: '{}' }],
  compact: [{ text: BODY, body: SPACED }],
  spaced: [{ text: SPACED }],
  indentedBy2: [{ text: pretty(2) }],
  indentedBy4: [{ text: pretty(4) }],
  indentedByTabs: [{ text: pretty('\t') }],
  sorted: [{ text: SORTED }],
  sortedSpaced: [{ text: spaced(SORTED) }],
  escaped: [{ text: BODY.replace('ü', '\\u00fc') }],
  escapedSpaced: [{ text: SPACED.replace('ü', '\\u00fc') }],
  slashesEscaped: [{ text: BODY.replace('/', '\\/') }],
  sha1: [{ hash: 'sha1' }],
  sha512: [{ hash: 'sha512' }],
  plainHash: [
    {
      signature: createHash('sha256')
        .update(AT + ID + KEY + BODY + SECRET)
        .digest('hex'),
    },
  ],
  base64: [{ encoding: 'base64' }, { encoding: 'base64url' }],
}

const single = Object.entries(SINGLE).flatMap(([id, signings]) =>
  signings.map((signing, i) => {
    const { separator } = signing as { separator?: string }
    const mistake = { id: id as MistakeId, ...(separator ? { separator } : {}) }
    return sent(signings.length === 1 ? id : `${id}, form ${i + 1}`, [mistake], signing)
  }),
)

/** In the order in which they are told. */
const several = [
  sent('order and body', [{ id: 'appKeyFirst' }, { id: 'spaced' }], { head: KEY + ID + AT, text: SPACED }),
  sent('secret and order', [{ id: 'secretWithLineBreak' }, { id: 'withoutRequestId' }], {
    key: `${SECRET}\n`,
    head: AT + KEY,
  }),
  sent('secret and a plain hash', [{ id: 'secretDecoded' }, { id: 'plainHash' }], {
    signature: createHash('sha256')
      .update(AT + ID + KEY + BODY)
      .update(Buffer.from(SECRET, 'base64url'))
      .digest('hex'),
  }),
  sent('SHA-1 in Base64', [{ id: 'sha1' }, { id: 'base64' }], { hash: 'sha1', encoding: 'base64' }),
  sent(
    'one of each kind',
    [
      { id: 'secretWithSpace' },
      { id: 'separated', separator: '|' },
      { id: 'indentedByTabs' },
      { id: 'sha512' },
      { id: 'base64' },
    ],
    { key: `${SECRET} `, head: `${AT}|${ID}|${KEY}|`, text: pretty('\t'), hash: 'sha512', encoding: 'base64' },
  ),
]

export const mistakenRequests: MistakenRequest[] = [...single, ...several]
export const mistakeIds = Object.keys(SINGLE) as MistakeId[]

export const rightRequests: MistakenRequest[] = [
  sent('lower case', [], {}),
  sent('upper case', [], { signature: sent('', [], {}).signature.toUpperCase() }),
]

export const unexplainedRequests: MistakenRequest[] = [
  sent('another secret', [], { key: 'another' }),
  sent('another body', [], { text: '{"transactionId":"T-2"}' }),
  sent('another hash', [], { hash: 'sha384' }),
  sent('no digest', [], { signature: 'none' }),
]

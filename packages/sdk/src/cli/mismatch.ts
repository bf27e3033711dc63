import { createHash, createHmac } from 'node:crypto'

/**
 * Why does a signature not match? The usual mistakes are made on purpose, each against everything else done right and
 * then together, until one of them gives the signature at hand. About two thousand HMACs: some milliseconds.
 */

export interface Signed {
  timestamp: string
  requestId: string
  appKey: string
  secret: string
  body: Buffer
  /** As given; hex or, wrongly, something else. */
  signature: string
}

interface Variant<T> {
  value: T
  /** What was done, completing "It matches when …". Undefined for the right way. */
  mistake?: string
  cure?: string
}

export interface Mistake {
  mistakes: string[]
  cures: string[]
}

/** The fewest mistakes that explain the signature, or undefined when none of the known ones do. */
export function explainMismatch(signed: Signed, path?: string): Mistake | undefined {
  const given = signed.signature.trim()
  const found: Mistake[] = []
  for (const secret of secrets(signed)) {
    for (const head of heads(signed, path)) {
      for (const body of bodies(signed.body)) {
        const made = [secret, head, body].filter((each) => each.mistake !== undefined)
        if (made.length > (found[0]?.mistakes.length ?? 3)) continue
        for (const digest of digests(secret.value, Buffer.concat([head.value, body.value]))) {
          if (digest.value !== given && digest.value !== given.toLowerCase()) continue
          const all = [...made, ...(digest.mistake === undefined ? [] : [digest])]
          found.push({ mistakes: all.map((each) => each.mistake ?? ''), cures: all.map((each) => each.cure ?? '') })
        }
      }
    }
  }
  return found.sort((left, right) => left.mistakes.length - right.mistakes.length)[0]
}

function secrets({ secret, appKey }: Signed): Variant<Buffer>[] {
  return [
    { value: Buffer.from(secret) },
    {
      value: Buffer.from(secret, 'base64url'),
      mistake: 'the AppSecret is Base64-decoded first',
      cure: 'Use the bytes of its text as they are.',
    },
    {
      value: Buffer.from(`${secret}\n`),
      mistake: 'the AppSecret ends with a line break',
      cure: 'Trim it when you read it from a file.',
    },
    {
      value: Buffer.from(`whsec_${Buffer.from(secret).toString('base64')}`),
      mistake: 'the key is the whsec_ form of the AppSecret',
      cure: 'That form is for Standard Webhooks libraries; sign requests with the AppSecret itself.',
    },
    { value: Buffer.from(appKey), mistake: 'the AppKey is used as the secret', cure: 'Sign with the AppSecret.' },
  ]
}

const PARTS = 'RT-Timestamp, RT-RequestID, RT-AccessCode and the body'

function heads({ timestamp, requestId, appKey }: Signed, path: string | undefined): Variant<Buffer>[] {
  const joined = (...parts: string[]) => Buffer.from(parts.join(''))
  const variants: Variant<Buffer>[] = [{ value: joined(timestamp, requestId, appKey) }]
  const add = (value: Buffer, mistake: string, cure: string) => variants.push({ value, mistake, cure })
  for (const [separator, name] of [
    ['\n', 'line breaks'],
    ['&', '&'],
    [',', 'commas'],
    ['.', 'dots'],
    [':', 'colons'],
    ['|', '|'],
  ] as const) {
    const head = [timestamp, requestId, appKey]
    add(
      Buffer.from(head.join(separator) + separator),
      `the parts are separated by ${name}`,
      'Join them without anything between.',
    )
  }
  const order = `Join them in the order ${PARTS}.`
  add(joined(timestamp, appKey, requestId), 'the AppKey comes before the RequestID', order)
  add(joined(requestId, timestamp, appKey), 'the RequestID comes before the timestamp', order)
  add(joined(appKey, requestId, timestamp), 'the AppKey comes first', order)
  add(joined(appKey, timestamp, requestId), 'the AppKey comes first', order)
  add(joined(requestId, appKey, timestamp), 'the RequestID comes first', order)
  add(joined(timestamp, requestId), 'the AppKey is left out', `Sign ${PARTS}.`)
  add(joined(timestamp, appKey), 'the RequestID is left out', `Sign ${PARTS}.`)
  add(
    joined(timestamp.slice(0, -3), requestId, appKey),
    'the signed timestamp is in seconds',
    'Sign the milliseconds that you send.',
  )
  const same = 'Sign the text of the header exactly as you send it.'
  add(joined(timestamp, requestId.toLowerCase(), appKey), 'the signed RequestID is in lower case', same)
  add(joined(timestamp, requestId.toUpperCase(), appKey), 'the signed RequestID is in upper case', same)
  add(joined(timestamp, requestId.replaceAll('-', ''), appKey), 'the signed RequestID has no hyphens', same)
  if (path !== undefined) {
    add(joined(timestamp, requestId, appKey, path), 'the path is signed too', `Sign ${PARTS} only.`)
  }
  return variants
}

const AS_SENT = 'Serialise the body once, and sign and send those very bytes.'

function bodies(sent: Buffer): Variant<Buffer>[] {
  const text = sent.toString('utf8')
  const variants: Variant<Buffer>[] = [{ value: sent }]
  const add = (body: string | undefined, mistake: string, cure = AS_SENT) => {
    if (body !== undefined && body !== text) variants.push({ value: Buffer.from(body), mistake, cure })
  }
  const atEnd = 'If the line break only came with the file that you gave me, the request itself is right.'
  add(text.replace(/\r?\n$/, ''), 'the line break after the body is not part of it', atEnd)
  add(`${text}\n`, 'a line break follows the body', 'Sign and send it without; echo adds one, printf does not.')
  add(text.replaceAll('\r\n', '\n'), 'line breaks are LF where the sent body has CRLF')
  add(text.replace(/\r?\n/g, '\r\n'), 'line breaks are CRLF where the sent body has LF')
  add(
    text.replace(/^\ufeff/, ''),
    'the byte-order mark is not part of the body',
    'Write UTF-8 without a byte-order mark.',
  )
  add('', 'no body is signed', 'Sign the body too, {} where there is nothing to say.')
  add('{}', 'the body {} is signed')
  const value = parsed(text)
  if (value === undefined) return variants
  const again = 'the body is serialised again between signing and sending'
  add(JSON.stringify(value), `${again} (without spaces)`)
  add(spaced(value), `${again} (with spaces after : and ,)`)
  add(JSON.stringify(value, null, 2), `${again} (indented by 2)`)
  add(JSON.stringify(value, null, 4), `${again} (indented by 4)`)
  add(JSON.stringify(sorted(value)), `${again} (members in alphabetical order)`)
  add(spaced(sorted(value)), `${again} (members in alphabetical order, with spaces)`)
  add(escaped(JSON.stringify(value)), `${again} (letters outside ASCII as \\u escapes)`)
  add(escaped(spaced(value)), `${again} (letters outside ASCII as \\u escapes, with spaces)`)
  add(JSON.stringify(value).replaceAll('/', '\\/'), `${again} (with \\/ for /)`)
  return variants
}

function digests(key: Buffer, bytes: Buffer): Variant<string>[] {
  const hmac = createHmac('sha256', key).update(bytes).digest()
  const hex = 'Send HMAC-SHA256 as 64 hex digits.'
  return [
    { value: hmac.toString('hex') },
    { value: hmac.toString('base64'), mistake: 'the signature is sent in Base64', cure: hex },
    { value: createHmac('sha1', key).update(bytes).digest('hex'), mistake: 'SHA-1 is used', cure: hex },
    { value: createHmac('sha512', key).update(bytes).digest('hex'), mistake: 'SHA-512 is used', cure: hex },
    {
      value: createHash('sha256').update(bytes).update(key).digest('hex'),
      mistake: 'a plain SHA-256 with the secret at the end is used',
      cure: 'Use HMAC-SHA256 with the secret as its key.',
    },
  ]
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** As Python's json.dumps writes: a space after each colon and comma. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(', ')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).map(([name, held]) => `${JSON.stringify(name)}: ${spaced(held)}`)
  return `{${members.join(', ')}}`
}

function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(
    Object.entries(value)
      .sort(([left], [right]) => (left < right ? -1 : 1))
      .map(([name, held]) => [name, sorted(held)]),
  )
}

function escaped(text: string): string {
  return text.replace(/[\u0080-\uffff]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
}

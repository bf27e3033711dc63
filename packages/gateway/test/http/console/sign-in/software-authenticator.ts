import { createHash, createSign, generateKeyPairSync, randomBytes } from 'node:crypto'

/** A relying party's options for an authenticator, as far as this one reads them. */
interface RequestOptions {
  challenge: string
  rp?: { id: string }
  rpId?: string
  user?: { id: string }
}

interface Circumstances {
  origin?: string
  /** Omits the flag for user verification. */
  unverified?: boolean
  /** The count to claim in place of the next one. */
  count?: number
}

const USER_PRESENT = 1
const USER_VERIFIED = 4
const HAS_CREDENTIAL = 64

/**
 * An authenticator with one ES256 credential, written from the WebAuthn specification (§6.1, §6.5) without the library with
 * which the gateway verifies. It answers every request, even from a wrong page.
 */
export function createAuthenticator(pageOrigin: string) {
  const { privateKey, publicKey } = generateKeyPairSync('ec', { namedCurve: 'P-256' })
  const id = randomBytes(32)
  let userHandle = ''
  let count = 0
  const clientData = (type: string, challenge: string, origin = pageOrigin) =>
    Buffer.from(JSON.stringify({ type, challenge, origin, crossOrigin: false }))
  const authenticatorData = (rpId: string, flags: number, at: number, rest = Buffer.alloc(0)) => {
    const head = Buffer.alloc(5)
    head.writeUInt8(flags)
    head.writeUInt32BE(at, 1)
    return Buffer.concat([createHash('sha256').update(rpId).digest(), head, rest])
  }
  const text = (bytes: Buffer) => bytes.toString('base64url')
  const identity = { id: text(id), rawId: text(id), type: 'public-key', clientExtensionResults: {} }
  return {
    /** Answers navigator.credentials.create. */
    create(options: RequestOptions, { origin, unverified }: Circumstances = {}) {
      userHandle = options.user!.id
      const { x, y } = publicKey.export({ format: 'jwk' })
      // COSE: kty EC2, alg ES256, crv P-256, x, y.
      const key = cborMap([
        [cborInt(1), cborInt(2)],
        [cborInt(3), cborInt(-7)],
        [cborInt(-1), cborInt(1)],
        [cborInt(-2), cborBytes(Buffer.from(x!, 'base64url'))],
        [cborInt(-3), cborBytes(Buffer.from(y!, 'base64url'))],
      ])
      const length = Buffer.alloc(2)
      length.writeUInt16BE(id.length)
      const credential = Buffer.concat([Buffer.alloc(16), length, id, key])
      const flags = USER_PRESENT | HAS_CREDENTIAL | (unverified ? 0 : USER_VERIFIED)
      const attestation = cborMap([
        [cborText('fmt'), cborText('none')],
        [cborText('attStmt'), cborMap([])],
        [cborText('authData'), cborBytes(authenticatorData(options.rp!.id, flags, count, credential))],
      ])
      const response = {
        clientDataJSON: text(clientData('webauthn.create', options.challenge, origin)),
        attestationObject: text(attestation),
        transports: ['internal'],
      }
      return { ...identity, response }
    },
    /** Answers navigator.credentials.get. */
    get(options: RequestOptions, { origin, unverified, count: claimed }: Circumstances = {}) {
      count = claimed ?? count + 1
      const flags = USER_PRESENT | (unverified ? 0 : USER_VERIFIED)
      const data = authenticatorData(options.rpId!, flags, count)
      const client = clientData('webauthn.get', options.challenge, origin)
      const signed = Buffer.concat([data, createHash('sha256').update(client).digest()])
      const signature = createSign('sha256').update(signed).sign(privateKey)
      const response = {
        clientDataJSON: text(client),
        authenticatorData: text(data),
        signature: text(signature),
        userHandle,
      }
      return { ...identity, response }
    },
  }
}

/** CBOR (RFC 8949): the head of an item. */
function cborHead(kind: number, value: number): Buffer {
  if (value < 24) return Buffer.of((kind << 5) | value)
  if (value < 256) return Buffer.of((kind << 5) | 24, value)
  return Buffer.of((kind << 5) | 25, value >> 8, value & 255)
}

function cborInt(value: number): Buffer {
  return value < 0 ? cborHead(1, -1 - value) : cborHead(0, value)
}

function cborBytes(bytes: Buffer): Buffer {
  return Buffer.concat([cborHead(2, bytes.length), bytes])
}

function cborText(text: string): Buffer {
  return Buffer.concat([cborHead(3, text.length), Buffer.from(text)])
}

function cborMap(entries: [Buffer, Buffer][]): Buffer {
  return Buffer.concat([cborHead(5, entries.length), ...entries.flat()])
}

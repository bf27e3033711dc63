import {
  type Attempt,
  type MismatchedRequest,
  type Mistake,
  type MistakeId,
  usualMistakes,
} from '@dealer-esim/contract'
import { interpolate, t } from '../strings/strings.ts'

/** Finds the fewest common mistakes that explain the signature: none if it is right, undefined if none does. */
export async function findMistakes(request: MismatchedRequest): Promise<Mistake[] | undefined> {
  const attempts = usualMistakes(request)
  const digestOf = createDigester()
  for (let batch = nextBatch(attempts); batch.length > 0; batch = nextBatch(attempts)) {
    const digests = await Promise.all(batch.map(digestOf))
    const found = batch.find(({ digest }, i) => digest === digests[i])
    if (found) return found.mistakes
  }
  return undefined
}

export function explain(mistakes: readonly Mistake[]): string {
  const texts: Record<MistakeId, string> = t.debugger.mistakes
  return mistakes
    .map(({ id, separator = '' }) => interpolate(texts[id], { separator: separator.replace('\n', '\\n') }))
    .join(' ')
}

/** Attempts hashed in parallel. One at a time, nine tenths of the time is spent waiting. */
const BATCH_ATTEMPTS = 200

function nextBatch(attempts: Iterator<Attempt>): Attempt[] {
  const batch: Attempt[] = []
  while (batch.length < BATCH_ATTEMPTS) {
    const { value, done } = attempts.next()
    if (done) break
    batch.push(value)
  }
  return batch
}

/** Imports each key only once: all attempts on one signature use the same hash. */
function createDigester(): (attempt: Attempt) => Promise<string> {
  const imported = new Map<Uint8Array, Promise<CryptoKey>>()
  return async ({ key, bytes, hash }) => {
    if (key === undefined) return toHex(await crypto.subtle.digest(hash, bytes))
    const known = imported.get(key) ?? crypto.subtle.importKey('raw', key, { name: 'HMAC', hash }, false, ['sign'])
    imported.set(key, known)
    return toHex(await crypto.subtle.sign('HMAC', await known, bytes))
  }
}

function toHex(bytes: ArrayBuffer): string {
  return Array.from(new Uint8Array(bytes), (byte) => byte.toString(16).padStart(2, '0')).join('')
}

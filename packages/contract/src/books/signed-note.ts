import { fromBase64, toBase64 } from '#base64.ts'
import { concatenate, utf8 } from '#signing/request-signing.ts'

/*
 * Signed notes (C2SP signed-note): a text, an empty line, and a line for each signature. Example of a signature line:
 *
 *     — esim.example.com/01a1fd8b-dc30-7373-b571-a5a73161e676 Az3grlgtzPICa5OS8npVmf1Myq/5IZniMp+ZJurmRDeOoRDe4URYN7u5/Zhcyv2q1gGzGku9nTo+zyWE+xeMcTOAYQ8=
 *
 * The base64 holds the key id (4 bytes) and the Ed25519 signature (64 bytes) of the text with its final newline.
 */

const SIGNATURE_START = '— '
const KEY_ID_BYTES = 4
const PUBLIC_KEY_BYTES = 32
const SIGNATURE_BYTES = 64
/** The signature type of Ed25519 in a key id. */
const ED25519 = '\x01'
/** A note of ours has one signature, an endorsement one of each key of each cell from which a dealer has arrived. */
const SIGNATURES_MAX = 256

export interface SignedNote {
  /** With its final newline: the bytes that are signed. */
  text: string
  signatures: { keyName: string; keyId: string; signature: Uint8Array<ArrayBuffer> }[]
}

/** The first 4 bytes of SHA-256(key name ‖ 0x0A ‖ 0x01 ‖ public key), as base64. */
async function keyIdOf(keyName: string, publicKey: Uint8Array): Promise<string> {
  const bytes = concatenate(`${keyName}\n${ED25519}`, publicKey)
  return toBase64(new Uint8Array(await crypto.subtle.digest('SHA-256', bytes)).subarray(0, KEY_ID_BYTES))
}

/** Writes a signature line. A note is its text, an empty line and the lines of its signatures. */
export function signatureLine(keyName: string, keyId: string, signature: Uint8Array): string {
  const id = fromBase64(keyId, KEY_ID_BYTES)
  if (id === undefined || signature.length !== SIGNATURE_BYTES) throw new TypeError('not an Ed25519 signature')
  return `${SIGNATURE_START}${keyName} ${toBase64(concatenate(id, signature))}\n`
}

/** Reads a note without verifying it; undefined if it is malformed. */
export function parseNote(note: string): SignedNote | undefined {
  if (typeof note !== 'string') return undefined
  const end = note.lastIndexOf('\n\n')
  if (end < 0 || !note.endsWith('\n') || hasControlCharacter(note)) return undefined
  const lines = note.slice(end + 2, -1).split('\n')
  if (lines.length > SIGNATURES_MAX) return undefined
  const signatures = lines.map(parseSignature)
  return signatures.every((each) => each !== undefined) ? { text: note.slice(0, end + 1), signatures } : undefined
}

function hasControlCharacter(text: string): boolean {
  for (let i = 0; i < text.length; i++) {
    const code = text.charCodeAt(i)
    if (code < 0x20 && code !== 0x0a) return true
  }
  return false
}

function parseSignature(line: string): SignedNote['signatures'][number] | undefined {
  if (!line.startsWith(SIGNATURE_START)) return undefined
  const [keyName = '', text = '', ...more] = line.slice(SIGNATURE_START.length).split(' ')
  const bytes = fromBase64(text, KEY_ID_BYTES + SIGNATURE_BYTES)
  if (keyName === '' || bytes === undefined || more.length > 0) return undefined
  return { keyName, keyId: toBase64(bytes.subarray(0, KEY_ID_BYTES)), signature: bytes.slice(KEY_ID_BYTES) }
}

/** True if one of the note's signatures is by this key under this name. */
export async function isSignedBy(note: SignedNote, keyName: string, publicKey: string): Promise<boolean> {
  const bytes = fromBase64(publicKey, PUBLIC_KEY_BYTES)
  if (bytes === undefined) return false
  const keyId = await keyIdOf(keyName, bytes)
  const found = note.signatures.find((each) => each.keyName === keyName && each.keyId === keyId)
  if (found === undefined) return false
  const key = await crypto.subtle.importKey('raw', bytes, 'Ed25519', false, ['verify'])
  return crypto.subtle.verify('Ed25519', key, found.signature, utf8(note.text))
}

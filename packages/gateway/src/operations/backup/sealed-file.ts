import { createCipheriv, createDecipheriv, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto'
import { type FileHandle, open } from 'node:fs/promises'
import { isDeepStrictEqual } from 'node:util'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { Type } from 'typebox'
import { Check } from 'typebox/value'

/*
 * A file that only the master key can have written. docs/recovery.md describes the format:
 *
 *   "dealer-esim-backup 1" newline | header as JSON newline | parts: length (4) bytes | length 0 (4) | seal (32)
 *
 * The seal is an HMAC-SHA256 of everything before it. If the header says so, each part is encrypted with AES-256-GCM, with its
 * number as nonce. Both keys are derived from the master key and the salt in the header.
 */

export interface SealedHeader {
  /** 32 random bytes, as base64. */
  salt: string
  encrypted: boolean
  /** Names the master key that seals and encrypts. */
  masterKeyFingerprint: string
}

/** The part used before the seal proves the header: see BackupHeader. */
const HEADER = Type.Object({
  salt: Type.String(),
  encrypted: Type.Boolean(),
  masterKeyFingerprint: Type.String(),
  databaseKeyFingerprint: Type.String(),
  release: Type.Number(),
  label: Type.String(),
  migrations: Type.Array(Type.Object({ version: Type.Number(), name: Type.String(), checksum: Type.String() }), {
    minItems: 1,
  }),
})

const MAGIC = 'dealer-esim-backup 1\n'
const LENGTH_BYTES = 4
const SEAL_BYTES = 32
const TAG_BYTES = 16
/** Longer than any header, which lists migrations and partitions. */
const HEADER_BYTES_MAX = 4 * 1024 * 1024
/** Far longer than the parts that are written. */
const PART_BYTES_MAX = 64 * 1024 * 1024
const READ_BYTES = 1024 * 1024

/** Writes a sealed file and waits until it is on disk. @returns its size in bytes */
export async function writeSealed(
  file: FileHandle,
  header: SealedHeader,
  masterKey: Buffer,
  parts: AsyncIterable<Buffer>,
): Promise<number> {
  const seal = createHmac('sha256', keyOf('authentication', masterKey, header))
  let bytes = 0
  const write = async (data: Buffer) => {
    seal.update(data)
    bytes += data.length
    await file.appendFile(data)
  }
  await write(Buffer.from(`${MAGIC}${JSON.stringify(header)}\n`))
  const encrypt = header.encrypted ? encryptor(masterKey, header) : undefined
  for await (const part of parts) {
    const stored = encrypt?.(part) ?? part
    await write(Buffer.concat([lengthOf(stored), stored]))
  }
  await write(lengthOf(Buffer.alloc(0)))
  await file.appendFile(seal.digest())
  await file.sync()
  return bytes + SEAL_BYTES
}

/** Reads the header, which proves nothing yet. @throws Refusal if it is not a backup */
export async function readHeader<Header extends SealedHeader>(path: string): Promise<Header> {
  const file = await open(path)
  try {
    return parseHeader(path, await readHeaderText(file, path)) as Header
  } finally {
    await file.close()
  }
}

function parseHeader(path: string, text: Buffer): SealedHeader {
  let header: unknown
  try {
    header = JSON.parse(text.toString('utf8', MAGIC.length))
  } catch {
    throw altered(path)
  }
  if (!Check(HEADER, header)) throw altered(path)
  return header
}

async function readHeaderText(file: FileHandle, path: string): Promise<Buffer> {
  const { buffer, bytesRead } = await file.read(Buffer.alloc(HEADER_BYTES_MAX), 0, HEADER_BYTES_MAX, 0)
  const text = buffer.subarray(0, bytesRead)
  if (text.toString('latin1', 0, MAGIC.length) !== MAGIC) throw notABackup(path)
  const end = text.indexOf('\n', MAGIC.length)
  if (end < 0) throw cut(path)
  return text.subarray(0, end + 1)
}

/** Reads the whole file. @throws Refusal if it was cut or altered, or if another master key sealed it */
export async function checkSealed(path: string, header: SealedHeader, masterKey: Buffer): Promise<void> {
  for await (const _ of readSealed(path, header, masterKey));
}

/**
 * Yields the parts, decrypted. They are proven only when the iteration ends. @throws Refusal also if the file no longer has this
 * header
 */
export async function* readSealed(path: string, header: SealedHeader, masterKey: Buffer): AsyncGenerator<Buffer> {
  const seal = createHmac('sha256', keyOf('authentication', masterKey, header))
  const decrypt = header.encrypted ? openerOf(masterKey, header) : undefined
  const file = await open(path)
  try {
    const text = await readHeaderText(file, path)
    if (!isDeepStrictEqual(parseHeader(path, text), header)) throw altered(path)
    seal.update(text)
    const take = taker(file, path, text.length)
    let partsBytes = 0
    for (;;) {
      const length = await take(LENGTH_BYTES)
      seal.update(length)
      const bytes = length.readUInt32BE()
      partsBytes += LENGTH_BYTES + bytes
      if (bytes === 0) break
      if (bytes > PART_BYTES_MAX) throw altered(path)
      const part = await take(bytes)
      seal.update(part)
      yield decrypt === undefined ? part : decrypted(decrypt, part, path)
    }
    if (!timingSafeEqual(await take(SEAL_BYTES), seal.digest())) throw altered(path)
    if ((await file.stat()).size > text.length + partsBytes + SEAL_BYTES) throw altered(path)
  } finally {
    await file.close()
  }
}

/** Reads exactly this many bytes from a position, ahead in larger steps. */
function taker(file: FileHandle, path: string, from: number): (bytes: number) => Promise<Buffer> {
  let ahead: Buffer = Buffer.alloc(0)
  let position = from
  return async (bytes) => {
    while (ahead.length < bytes) {
      const size = Math.max(READ_BYTES, bytes - ahead.length)
      const { buffer, bytesRead } = await file.read(Buffer.alloc(size), 0, size, position)
      if (bytesRead === 0) throw cut(path)
      position += bytesRead
      ahead = Buffer.concat([ahead, buffer.subarray(0, bytesRead)])
    }
    const taken = ahead.subarray(0, bytes)
    ahead = ahead.subarray(bytes)
    return taken
  }
}

function keyOf(use: 'authentication' | 'encryption', masterKey: Buffer, { salt }: SealedHeader): Buffer {
  return Buffer.from(hkdfSync('sha256', masterKey, Buffer.from(salt, 'base64'), `dealer-esim backup ${use}`, 32))
}

/** Each file has a key of its own, so the number of a part never serves twice as nonce. */
function nonceOf(part: bigint): Buffer {
  const nonce = Buffer.alloc(12)
  nonce.writeBigUInt64BE(part, 4)
  return nonce
}

function encryptor(masterKey: Buffer, header: SealedHeader): (part: Buffer) => Buffer {
  const key = keyOf('encryption', masterKey, header)
  let number = 0n
  return (part) => {
    const cipher = createCipheriv('aes-256-gcm', key, nonceOf(number++))
    return Buffer.concat([cipher.update(part), cipher.final(), cipher.getAuthTag()])
  }
}

function openerOf(masterKey: Buffer, header: SealedHeader): (stored: Buffer) => Buffer {
  const key = keyOf('encryption', masterKey, header)
  let number = 0n
  return (stored) => {
    const decipher = createDecipheriv('aes-256-gcm', key, nonceOf(number++), { authTagLength: TAG_BYTES })
    decipher.setAuthTag(stored.subarray(-TAG_BYTES))
    return Buffer.concat([decipher.update(stored.subarray(0, -TAG_BYTES)), decipher.final()])
  }
}

function decrypted(decrypt: (stored: Buffer) => Buffer, part: Buffer, path: string): Buffer {
  try {
    return decrypt(part)
  } catch {
    throw altered(path)
  }
}

function lengthOf(data: Buffer): Buffer {
  const length = Buffer.alloc(LENGTH_BYTES)
  length.writeUInt32BE(data.length)
  return length
}

function notABackup(path: string): Refusal {
  return new Refusal(422, 'NO_BACKUP', `${path} is not a backup of this gateway (dealer-esim-admin backup makes them).`)
}

function cut(path: string): Refusal {
  return new Refusal(
    422,
    'BACKUP_CUT',
    `${path} was truncated: its end is missing. Copy it again, or take another backup.`,
  )
}

export function altered(path: string): Refusal {
  return new Refusal(
    422,
    'BACKUP_ALTERED',
    `${path} was altered after it was made: its seal does not fit. Copy it again, or take another backup.`,
  )
}

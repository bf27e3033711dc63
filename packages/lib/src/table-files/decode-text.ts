import { isUtf8 } from 'node:buffer'
import { type EncodingQuestion, type Source, UnreadableFile } from './unreadable-file.ts'

/**
 * The encodings that spreadsheets write, the most common first. A person chooses: no program can distinguish most of them.
 */
export const ENCODINGS = [
  'windows-1252',
  'windows-1250',
  'windows-1251',
  'windows-1253',
  'windows-1254',
  'windows-1255',
  'windows-1256',
  'windows-1257',
  'windows-1258',
  'windows-874',
  'macintosh',
  'shift_jis',
  'gb18030',
  'big5',
  'euc-kr',
  'utf-16le',
  'utf-16be',
  'utf-8',
] as const
export type Encoding = (typeof ENCODINGS)[number]

/** @returns undefined for an unknown name. Other names of an encoding are known too: latin1 is windows-1252 */
export function findEncoding(name: string): Encoding | undefined {
  try {
    const { encoding } = new TextDecoder(name.trim())
    return ENCODINGS.find((known) => known === (LATIN.has(encoding) ? 'windows-1252' : encoding))
  } catch {
    return undefined
  }
}

const LATIN = new Set(['iso-8859-1', 'latin1', 'ascii', 'us-ascii'])

/**
 * Decodes a file as it streams in: by its byte-order mark, or as UTF-8, or in the encoding that a person has chosen. A byte
 * that does not fit is never replaced.
 * @param isSecret examples in a question show only cells with letters outside ASCII
 * @throws UnreadableFile with the question for the encoding
 */
export async function* decodeText(
  source: Source,
  named: Encoding | undefined,
  isSecret: boolean,
): AsyncGenerator<string> {
  const chunks = source[Symbol.asyncIterator]()
  let decode: ((chunk: Uint8Array, isLast: boolean) => string) | undefined
  let certain = false
  let lines = 0
  let open: Uint8Array = new Uint8Array() // the bytes of the last line so far
  for (;;) {
    const { value, done } = await chunks.next()
    if (typeof value === 'string') {
      yield value
      continue
    }
    const chunk = value ?? new Uint8Array()
    if (decode === undefined) {
      const marked = byteOrderMark(chunk)
      certain = marked !== undefined
      decode = decoderOf(marked ?? named ?? 'utf-8')
      // UTF-16 without its mark.
      if (!certain && named === undefined && chunk.includes(0)) throw await encodingQuestion(chunk, 0, chunks, isSecret)
    }
    const known = decode
    let text: string
    try {
      text = known(chunk, done === true)
    } catch {
      const bytes = Buffer.concat([open, chunk])
      if (certain || named !== undefined) throw new UnreadableFile(lines + 1, brokenText(named))
      throw await encodingQuestion(bytes, lines, chunks, isSecret)
    }
    if (text !== '') yield text
    if (done) return
    const end = chunk.lastIndexOf(LINE_FEED) + 1
    lines += countLines(chunk.subarray(0, end))
    open = end > 0 ? chunk.slice(end) : Buffer.concat([open, chunk]).subarray(-LINE_BYTES_MAX)
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13
const LINE_BYTES_MAX = 65_536

function brokenText(named: Encoding | undefined): string {
  const encoding = named ?? 'the encoding that its first bytes indicate'
  return `The file is not entirely in ${encoding}: some bytes do not encode a character. Save it again as CSV UTF-8.`
}

function byteOrderMark(head: Uint8Array): Encoding | undefined {
  if (head[0] === 0xef && head[1] === 0xbb && head[2] === 0xbf) return 'utf-8'
  if (head[0] === 0xff && head[1] === 0xfe) return 'utf-16le'
  return head[0] === 0xfe && head[1] === 0xff ? 'utf-16be' : undefined
}

function decoderOf(encoding: Encoding): (chunk: Uint8Array, isLast: boolean) => string {
  if (encoding === 'windows-1252') return (chunk) => decodeWindows1252(chunk)
  const decoder = new TextDecoder(encoding, { fatal: true })
  return (chunk, isLast) => decoder.decode(chunk, { stream: !isLast })
}

/** Node 20's TextDecoder reads it as ISO 8859-1, which has no ’ and no €. */
function decodeWindows1252(bytes: Uint8Array): string {
  return Buffer.from(bytes)
    .toString('latin1')
    .replaceAll(/[\x80-\x9F]/g, (character) => WINDOWS_1252[character.charCodeAt(0) - 0x80]!)
}

/** 0x80 to 0x9F. Five of them are unused and stay control characters, which no cell may have. */
const WINDOWS_1252 = '€\x81‚ƒ„…†‡ˆ‰Š‹Œ\x8DŽ\x8F\x90‘’“”•–—˜™š›œ\x9DžŸ'

function countLines(bytes: Uint8Array): number {
  let lines = 0
  for (let at = bytes.indexOf(LINE_FEED); at !== -1; at = bytes.indexOf(LINE_FEED, at + 1)) lines++
  return lines
}

const ROWS_SHOWN = 5
const READ_AHEAD_BYTES = 262_144
const ROW_LENGTH_SHOWN = 200

async function encodingQuestion(
  bytes: Uint8Array,
  linesBefore: number,
  chunks: AsyncIterator<Uint8Array | string>,
  isSecret: boolean,
): Promise<UnreadableFile> {
  let read = Buffer.from(bytes)
  while (foreignLines(read).length <= ROWS_SHOWN && read.length < READ_AHEAD_BYTES) {
    const { value, done } = await chunks.next()
    if (done || typeof value === 'string') break
    read = Buffer.concat([read, value])
  }
  const lines = splitLines(read)
  const row =
    linesBefore +
    1 +
    Math.max(
      0,
      lines.findIndex((line) => !isUtf8(line)),
    )
  const choices = read.includes(0) ? wideChoices(read) : narrowChoices(read)
  const shown = choices.map(({ encoding, rows }) => ({
    encoding,
    rows: rows.map((text) => (isSecret ? onlyForeign(text) : text).slice(0, ROW_LENGTH_SHOWN)),
  }))
  const reason = `Row ${row} is not in UTF-8. Save the file as CSV UTF-8, or specify its encoding if that shows all letters correctly.`
  return new UnreadableFile(row, reason, shown.length > 0 ? { question: { kind: 'ENCODING', choices: shown } } : {})
}

/** Encodings with one or two bytes for a character. */
function narrowChoices(read: Uint8Array): EncodingQuestion['choices'] {
  const lines = foreignLines(read).slice(0, ROWS_SHOWN)
  return ENCODINGS.filter((encoding) => !encoding.startsWith('utf-')).flatMap((encoding) => {
    const rows = lines.map((line) => readText(line, encoding))
    return rows.includes(undefined) ? [] : [{ encoding, rows: rows as string[] }]
  })
}

/** UTF-16: an ASCII letter has one byte that is 0. */
function wideChoices(read: Uint8Array): EncodingQuestion['choices'] {
  return (['utf-16le', 'utf-16be'] as const).flatMap((encoding) => {
    const text = readText(read.subarray(0, read.length - (read.length % 4)), encoding)
    return text === undefined
      ? []
      : [
          {
            encoding,
            rows: text
              .split(/[\r\n]+/)
              .filter(Boolean)
              .slice(0, ROWS_SHOWN),
          },
        ]
  })
}

function splitLines(bytes: Uint8Array): Uint8Array[] {
  const lines: Uint8Array[] = []
  let start = 0
  for (let at = 0; at <= bytes.length; at++) {
    if (at < bytes.length && bytes[at] !== LINE_FEED && bytes[at] !== CARRIAGE_RETURN) continue
    if (at > start || bytes[at] === LINE_FEED) lines.push(bytes.subarray(start, at))
    if (bytes[at] === CARRIAGE_RETURN && bytes[at + 1] === LINE_FEED) at++
    start = at + 1
  }
  return lines
}

/** The lines that read differently in different encodings. */
function foreignLines(bytes: Uint8Array): Uint8Array[] {
  return splitLines(bytes).filter((line) => line.some((byte) => byte >= 0x80 || byte === 0))
}

/** @returns undefined: the bytes cannot be in this encoding */
function readText(bytes: Uint8Array, encoding: Encoding): string | undefined {
  try {
    const text = decoderOf(encoding)(bytes, true)
    return IMPOSSIBLE.test(text) ? undefined : text
  } catch {
    return undefined
  }
}

/** Control, unassigned and private characters, which no text in a table contains. */
const IMPOSSIBLE = /[\0-\x08\x0B\x0C\x0E-\x1F\x7F-\x9F\uFFFD\p{Co}\p{Cn}]/u

/** Cells without letters outside ASCII may be activation codes, and do not help to decide. */
function onlyForeign(text: string): string {
  const cells = text.split(/[,;\t]/).map((cell) => (/[^\0-\x7F]/.test(cell) ? cell : '…'))
  return cells.join(', ')
}

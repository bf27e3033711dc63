import { spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { fileURLToPath } from 'node:url'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import type { PictureSlot } from './brand-settings.ts'
import { findSvgFault } from './svg-fault.ts'

export const PICTURE_SIZE_MAX_BYTES = 512 * 1024
/** Long enough for a machine that does other things too. */
const DRAW_MS = 20_000

/** A logo is shown 40 px high and at most 240 px wide, an icon 96 px wide, each at twice the density. */
const SIZES: Record<PictureSlot, Size> = {
  logoLight: { width: 480, height: 160 },
  logoDark: { width: 480, height: 160 },
  icon: { width: 192, height: 192 },
}

interface Size {
  width: number
  height: number
}

export interface DrawnPicture {
  /** The first half of the SHA-256 of its content, in hexadecimal. */
  hash: string
  /** PNG without metadata. */
  content: Buffer
}

/**
 * Draws a logo or an icon again, as PNG, so that nothing of the file that was sent is ever served: no script of an SVG, no
 * metadata, no second format in one file.
 * @throws Refusal if it is no picture, is too large, or its SVG could do more than draw
 */
export async function drawPicture(slot: PictureSlot, file: Buffer, timeoutMs = DRAW_MS): Promise<DrawnPicture> {
  const refuse = (fault: string) => new Refusal(422, 'PICTURE_INVALID', fault, { fields: { [slot]: fault } })
  if (file.length > PICTURE_SIZE_MAX_BYTES) throw refuse('The picture is larger than 512 kB. Save it smaller.')
  const type = typeOf(file)
  if (type === undefined) throw refuse('Choose a PNG, JPEG, WebP or SVG picture. A compressed SVG is not one.')
  const fault = type === 'svg' ? findSvgFault(file) : undefined
  if (fault !== undefined) throw refuse(fault)
  const content = await draw(file, type, SIZES[slot], timeoutMs)
  if (typeof content === 'string') throw refuse(FAULTS[content])
  return { content, hash: createHash('sha256').update(content).digest('hex').slice(0, 32) }
}

const FAULTS = {
  DAMAGED: 'The picture cannot be read: it is damaged, or not what its name says.',
  SLOW: 'The picture takes too long to draw. Save it simpler, or as PNG.',
  TOO_MANY_PIXELS: 'The picture has too many pixels. Save it smaller.',
} as const
type Fault = keyof typeof FAULTS

type PictureType = 'png' | 'jpeg' | 'webp' | 'svg'

function typeOf(file: Buffer): PictureType | undefined {
  if (file.subarray(0, 8).equals(PNG)) return 'png'
  if (file.subarray(0, 3).equals(JPEG)) return 'jpeg'
  if (file.toString('latin1', 0, 4) === 'RIFF' && file.toString('latin1', 8, 12) === 'WEBP') return 'webp'
  return startsAsSvg(file.toString('utf8').replace(/^\uFEFF/, '')) ? 'svg' : undefined
}

/** True if only an XML declaration and comments precede the element svg. */
function startsAsSvg(text: string): boolean {
  let at = 0
  for (;;) {
    while (/\s/.test(text.charAt(at))) at++
    const end = text.startsWith('<?xml', at) ? '?>' : text.startsWith('<!--', at) ? '-->' : undefined
    if (end === undefined) return /^<svg[\s>]/.test(text.slice(at, at + 5))
    const found = text.indexOf(end, at)
    if (found === -1) return false
    at = found + end.length
  }
}

const PNG = Buffer.from('89504e470d0a1a0a', 'hex')
const JPEG = Buffer.from('ffd8ff', 'hex')

/** The exit code of draw-process.js for too many pixels. */
const TOO_MANY_PIXELS = 3

/**
 * Decoders are written for speed, and an SVG of a few lines can ask for more work than there is time: the process is killed after
 * DRAW_MS. It gets no environment, so it knows no secret.
 */
function draw(file: Buffer, type: PictureType, { width, height }: Size, timeoutMs: number): Promise<Buffer | Fault> {
  return new Promise((resolve) => {
    const script = fileURLToPath(new URL('./draw-process.js', import.meta.url))
    const child = spawn(process.execPath, [script, type, String(width), String(height)], {
      env: {},
      stdio: ['pipe', 'pipe', 'ignore'],
      timeout: timeoutMs,
      killSignal: 'SIGKILL',
    })
    const drawn: Buffer[] = []
    child.stdout.on('data', (chunk: Buffer) => drawn.push(chunk))
    child.once('error', () => resolve('DAMAGED'))
    child.once('close', (code, signal) => {
      if (code === 0 && drawn.length > 0) resolve(Buffer.concat(drawn))
      else resolve(signal !== null ? 'SLOW' : code === TOO_MANY_PIXELS ? 'TOO_MANY_PIXELS' : 'DAMAGED')
    })
    child.stdin.on('error', () => {}) // it was killed before it had read everything
    child.stdin.end(file)
  })
}

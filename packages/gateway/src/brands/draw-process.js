// @ts-check
// Draws one picture again, in a process of its own: see draw-picture.ts. JavaScript, because Node 20 starts no process on
// TypeScript. The file comes from stdin, the PNG goes to stdout; any other exit code than 0 is a refusal.

import sharp from 'sharp'

/** 4 096 × 4 096 pixels take 64 MB. */
const PIXELS_MAX = 4_096 * 4_096
const TOO_MANY_PIXELS = 3

/** The density at which an SVG is drawn in its own size, in dots per inch. */
const OWN_DENSITY = 72
const DENSITY_MAX = 72_000

/** Only these decoders run; the library has many more. */
const DECODERS = [
  'VipsForeignLoadPngBuffer',
  'VipsForeignLoadJpegBuffer',
  'VipsForeignLoadWebpBuffer',
  'VipsForeignLoadSvgBuffer',
]

const [, , type, ...size] = process.argv
const [width = 1, height = 1] = size.map(Number)

/** @type {Buffer[]} */
const chunks = []
for await (const chunk of process.stdin) chunks.push(chunk)

try {
  process.stdout.write(await draw(Buffer.concat(chunks)))
} catch (error) {
  process.exitCode = /pixel limit/i.test(/** @type {Error} */ (error).message) ? TOO_MANY_PIXELS : 1
}

/** @param {Buffer} file */
async function draw(file) {
  sharp.block({ operation: ['VipsForeignLoad'] })
  sharp.unblock({ operation: DECODERS })
  const options = /** @type {const} */ ({ limitInputPixels: PIXELS_MAX, failOn: 'error', pages: 1 })
  const own = await sharp(file, options).metadata()
  const scale = Math.min(width / (own.width || 1), height / (own.height || 1))
  const density = Math.min(DENSITY_MAX, Math.max(1, OWN_DENSITY * scale))
  return sharp(file, { ...options, ...(type === 'svg' && { density }) })
    .rotate() // as its metadata says, which are then left out
    .resize({ width, height, fit: 'inside', withoutEnlargement: true })
    .png({ compressionLevel: 9 })
    .toBuffer()
}

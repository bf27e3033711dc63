import { crc32, deflateSync } from 'node:zlib'
import encodeQR from 'qr'

/** ISO/IEC 18004 requires four light modules around the code. */
const QUIET_ZONE_MODULES = 4
const PIXELS_PER_MODULE = 10
/** Codes are often read from screens, where reflections may cover a quarter of the code. */
const ERROR_CORRECTION = 'quartile'

export function qrSvg(text: string): string {
  return encodeQR(text, 'svg', { ecc: ERROR_CORRECTION, border: QUIET_ZONE_MODULES })
}

/** Draws a QR code in black on white, with one bit per pixel. */
export function qrPng(text: string): Buffer {
  const modules = encodeQR(text, 'raw', { ecc: ERROR_CORRECTION, border: QUIET_ZONE_MODULES })
  const size = modules.length * PIXELS_PER_MODULE
  const rowBytes = 1 + Math.ceil(size / 8)
  const pixels = Buffer.alloc(rowBytes * size)
  for (let y = 0; y < size; y++) {
    const row = modules[Math.floor(y / PIXELS_PER_MODULE)]!
    for (let x = 0; x < size; x++) {
      if (row[Math.floor(x / PIXELS_PER_MODULE)]) continue // black is 0
      const at = y * rowBytes + 1 + (x >> 3)
      pixels[at] = pixels[at]! | (0x80 >> (x & 7))
    }
  }
  return png(size, deflateSync(pixels))
}

const SIGNATURE = Buffer.from('89504e470d0a1a0a', 'hex')
const GREYSCALE_ONE_BIT = [1, 0, 0, 0, 0] // bit depth, colour type, compression, filter, interlace

/** PNG (RFC 2083): signature, header, one data chunk, end. */
function png(size: number, data: Buffer): Buffer {
  const header = Buffer.alloc(13)
  header.writeUInt32BE(size, 0)
  header.writeUInt32BE(size, 4)
  header.set(GREYSCALE_ONE_BIT, 8)
  return Buffer.concat([SIGNATURE, chunk('IHDR', header), chunk('IDAT', data), chunk('IEND', Buffer.alloc(0))])
}

function chunk(type: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(type, 'latin1'), data])
  const framed = Buffer.alloc(8 + body.length)
  framed.writeUInt32BE(data.length, 0)
  body.copy(framed, 4)
  framed.writeUInt32BE(crc32(body), 4 + body.length)
  return framed
}

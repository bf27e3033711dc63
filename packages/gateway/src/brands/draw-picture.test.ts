import { describe, expect, it } from 'vitest'
import { drawPicture, PICTURE_SIZE_MAX_BYTES } from './draw-picture.ts'

const svg = (inside: string, attributes = '') =>
  Buffer.from(
    `<svg xmlns="http://www.w3.org/2000/svg" xmlns:xlink="http://www.w3.org/1999/xlink" viewBox="0 0 40 20" ${attributes}>${inside}</svg>`,
  )
const LOGO = svg('<rect width="40" height="20" rx="4" fill="#b8336a"/>')

/** Width and height in the header of a PNG. */
const sizeOf = (png: Buffer) => [png.readUInt32BE(16), png.readUInt32BE(20)]
const refusal = (file: Buffer) =>
  drawPicture('logoLight', file).then(
    () => 'drawn',
    (error: Error) => error.message,
  )

describe('a logo', () => {
  it('is drawn as a PNG of the size that is shown', async () => {
    const { content, hash } = await drawPicture('logoLight', LOGO)
    expect(content.subarray(1, 4).toString()).toBe('PNG')
    expect(sizeOf(content)).toEqual([320, 160])
    expect(hash).toMatch(/^[0-9a-f]{32}$/)
    expect((await drawPicture('logoLight', LOGO)).hash).toBe(hash)
    expect(sizeOf((await drawPicture('icon', LOGO)).content)).toEqual([192, 96])
  })

  it.each(['png', 'jpeg', 'webp'] as const)('is drawn from %s, without its metadata', async (format) => {
    const { default: sharp } = await import('sharp')
    const picture = sharp({ create: { width: 600, height: 100, channels: 3, background: '#14655a' } })
    const file = await picture
      .withExif({ IFD0: { Copyright: 'SECRET-PLACE' } })
      .toFormat(format)
      .toBuffer()
    expect(file.includes('SECRET-PLACE')).toBe(true)
    const { content } = await drawPicture('logoLight', Buffer.concat([file, Buffer.from('<script>alert(1)</script>')]))
    expect(sizeOf(content)).toEqual([480, 80])
    expect(content.includes('SECRET-PLACE') || content.includes('script')).toBe(false)
  })

  it.each([
    ['a page', Buffer.from('<html><svg></svg></html>')],
    ['a GIF', Buffer.from('GIF89a\u0001\u0000')],
    ['a PDF', Buffer.from('%PDF-1.7')],
    ['nothing', Buffer.alloc(0)],
  ])('is refused if it is %s', async (_, file) => {
    expect(await refusal(file)).toMatch(/^Choose a PNG, JPEG, WebP or SVG picture/)
  })

  it('is refused if it is damaged, too large, or has too many pixels', async () => {
    expect(await refusal(Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100)]))).toMatch(/damaged/)
    expect(await refusal(Buffer.alloc(PICTURE_SIZE_MAX_BYTES + 1))).toMatch(/larger than 512 kB/)
    expect(await refusal(svg('', 'width="90000" height="90000"'))).toMatch(/too many pixels/)
  })
})

describe('an SVG', () => {
  it.each([
    ['a script', '<script>alert(1)</script>'],
    ['a script in a name space', '<svg:script xmlns:svg="http://www.w3.org/2000/svg">alert(1)</svg:script>'],
    ['an event handler', '<rect width="9" height="9" onload="alert(1)"/>'],
    ['an event handler on a new line', '<rect\nonclick = "alert(1)" width="9" height="9"/>'],
    ['an event handler behind a slash', '<rect/onload="alert(1)"/>'],
    ['a page inside', '<foreignObject><p xmlns="http://www.w3.org/1999/xhtml">x</p></foreignObject>'],
    ['a picture elsewhere', '<image href="https://tracker.example/p.png" width="9" height="9"/>'],
    ['a file of the server', '<image xlink:href="file:///etc/hostname" width="9" height="9"/>'],
    ['another SVG inside', '<image href="data:image/svg+xml;base64,PHN2Zy8+" width="9" height="9"/>'],
    ['a link', '<a href="javascript:alert(1)"><rect width="9" height="9"/></a>'],
    ['a style elsewhere', '<style>@import "https://tracker.example/s.css";</style>'],
    ['a paint elsewhere', '<rect width="9" height="9" fill="url(https://tracker.example/p.svg#a)"/>'],
    ['an animated link', '<a><animate attributeName="href" to="javascript:alert(1)"/></a>'],
    ['an entity', '<text>&x;</text>'],
    ['a base', '<g xml:base="https://tracker.example/"/>'],
  ])('with %s is refused', async (_, inside) => {
    expect(await refusal(svg(inside))).toMatch(/^The SVG contains /)
  })

  it('with entities or a style sheet in its prologue is refused', async () => {
    const bomb = '<!DOCTYPE svg [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>'
    expect(await refusal(Buffer.from(`<?xml version="1.0"?>${bomb}${LOGO}`))).not.toBe('drawn')
    expect(await refusal(Buffer.from(`<?xml version="1.0"?><?xml-stylesheet href="x.css"?>${LOGO}`))).not.toBe('drawn')
    expect(await refusal(Buffer.from(`<svg>${bomb}</svg>`))).toMatch(/document type/)
    expect(await refusal(Buffer.from(`\uFEFF${LOGO}`, 'utf16le'))).not.toBe('drawn')
  })

  it('that repeats itself a trillion times is given up', async () => {
    const levels = Array.from({ length: 12 }, (_, level) => {
      const use = `<use href="#l${level}"/>`
      return `<g id="l${level + 1}">${use.repeat(10)}</g>`
    })
    const bomb = svg(`<defs><rect id="l0" width="1" height="1"/>${levels.join('')}</defs><use href="#l12"/>`)
    await expect(drawPicture('icon', bomb, 1_500)).rejects.toThrow('The picture takes too long to draw.')
  })

  it('of a drawing program is drawn', async () => {
    const inside = `<!-- Created with a drawing program -->
      <style>.a { fill: #b8336a }</style><defs><linearGradient id="g"><stop offset="0" stop-color="#fff"/></linearGradient></defs>
      <rect class="a" width="40" height="20"/><rect width="9" height="9" fill="url(#g)"/><use xlink:href="#g"/><title>A &amp; B</title>`
    const file = Buffer.concat([Buffer.from('<?xml version="1.0" encoding="UTF-8"?>\n'), svg(inside)])
    expect(sizeOf((await drawPicture('logoLight', file)).content)).toEqual([320, 160])
  })
})

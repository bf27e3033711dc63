import { describe, expect, it } from 'vitest'
import { qrFormatFor } from './page-load.ts'

const BROWSER = 'Mozilla/5.0 (iPhone; CPU iPhone OS 15_0 like Mac OS X) AppleWebKit/605.1.15 Version/15.0 Safari/604.1'
const PREVIEW = 'WhatsApp/2.23.20.0'
const HTML = 'text/html,application/xhtml+xml,application/xml;q=0.9,image/png,image/svg+xml,*/*;q=0.8'
const SVG = 'image/svg+xml'

const ACCEPTS = [
  undefined,
  '*/*',
  HTML,
  'text/html;q=0, image/*',
  SVG,
  `${SVG}, image/png`,
  `${SVG}, */*;q=0.1`,
] as const
const USER_AGENTS = [undefined, BROWSER, PREVIEW, 'curl/8.5.0']
const DESTINATIONS = ['document', 'image', 'iframe', 'empty']

describe('qrFormatFor', () => {
  it('returns the page only if Sec-Fetch headers ask for a document, whatever the other headers say', () => {
    for (const dest of DESTINATIONS)
      for (const accept of ACCEPTS)
        for (const userAgent of USER_AGENTS) {
          const format = qrFormatFor({ 'sec-fetch-dest': dest, accept, 'user-agent': userAgent })
          const picture = accept === SVG ? 'svg' : 'png'
          expect([dest, accept, userAgent, format]).toEqual([
            dest,
            accept,
            userAgent,
            dest === 'document' ? 'page' : picture,
          ])
        }
  })

  it('does not return the page if the Sec-Fetch headers state no destination', () => {
    expect(qrFormatFor({ 'sec-fetch-mode': 'navigate', accept: HTML, 'user-agent': BROWSER })).toBe('png')
  })

  it('returns the page without Sec-Fetch headers only if text/html is accepted', () => {
    for (const accept of ACCEPTS)
      for (const userAgent of USER_AGENTS) {
        const isPage = accept === HTML && userAgent !== PREVIEW
        const format = qrFormatFor({ accept, 'user-agent': userAgent })
        expect([accept, userAgent, format]).toEqual([
          accept,
          userAgent,
          isPage ? 'page' : accept === SVG ? 'svg' : 'png',
        ])
      }
  })

  it.each([
    'facebookexternalhit/1.1 Facebot Twitterbot/1.0',
    'TelegramBot (like TwitterBot)',
    'Slackbot-LinkExpanding 1.0 (+https://api.slack.com/robots)',
    'Mozilla/5.0 (compatible; Discordbot/2.0; +https://discordapp.com)',
    'LinkedInBot/1.0 (compatible; Mozilla/5.0; Apache-HttpClient)',
    'Mozilla/5.0 (Windows NT 6.1; WOW64) SkypeUriPreview Preview/0.5',
    'Viber/20.3.0',
  ])('returns the picture to the link-preview bot %s', (userAgent) => {
    expect(qrFormatFor({ accept: HTML, 'user-agent': userAgent })).toBe('png')
  })

  it.each(['Mozilla/5.0 (Linux; Android 9) Chrome/70 Mobile Viber/20.3.0', 'Mozilla/5.0 (iPhone) Line/13.1.0'])(
    'returns the page to an in-app browser: %s',
    (userAgent) => expect(qrFormatFor({ accept: HTML, 'user-agent': userAgent })).toBe('page'),
  )

  it.each([
    ['IMAGE/SVG+XML', 'svg'],
    ['image/svg+xml;q=0.5', 'svg'],
    ['image/svg+xml, image/png;q=0', 'svg'],
    ['image/svg+xml;q=0', 'png'],
    ['image/png;q=0.1, image/svg+xml', 'png'],
    ['', 'png'],
    ['nonsense;;,', 'png'],
    ['TEXT/HTML;level=1;q=0.1', 'page'],
    ['text/*', 'png'],
  ])('answers the header Accept: %s with %s', (accept, format) => expect(qrFormatFor({ accept })).toBe(format))
})

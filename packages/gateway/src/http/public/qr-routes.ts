import type { IncomingHttpHeaders } from 'node:http'
import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { FastifyInstance, FastifyReply } from 'fastify'
import { findQrContent, findSharedEsim } from '#esims/qr/qr-content.ts'
import { readShareToken } from '#esims/qr/qr-link.ts'
import { qrPng, qrSvg } from '#esims/qr/qr-picture.ts'
import { markOpened } from '#esims/sends/mark-opened.ts'
import { qrPage, sharePage, TRAVELLER_PAGE_POLICY } from './traveller-page.ts'

const HEADERS = {
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  'x-robots-tag': 'noindex, nofollow',
  'x-content-type-options': 'nosniff',
}

const LINK = { access: 'the link: its token has 128 random bits or more' }

const NOTHING_TO_INSTALL =
  'Nothing to install: the eSIM is already installed or cancelled, or the link is incomplete.\n'
const NOTHING_TO_SHOW =
  'Nothing to show: the eSIM has ended, or the link is incomplete or was replaced. Ask your seller for the current link.\n'

/**
 * `/qr/TOKEN` is the QR code of an eSIM that is ready to install: a picture, or for a browser's page load a page with other
 * ways to install it. `/qr/TOKEN.svg` and `/qr/TOKEN.png` are always the picture. Everything else gets the same 404,
 * including installed and cancelled eSIMs.
 * `/share/TOKEN` is the traveller's page, which remains after installation; `/share/TOKEN.svg` and `/share/TOKEN.png` are
 * its QR code until then.
 */
export function addQrRoutes(
  app: FastifyInstance,
  deps: { db: Db; cipher: Pick<Cipher, 'decrypt'>; linkKey: Buffer },
): void {
  app.get<{ Params: { name: string } }>('/qr/:name', { config: LINK }, async (request, reply) => {
    reply.headers({ ...HEADERS, vary: QR_VARY })
    const { token, format } = parseName(request.params.name)
    const found = await findQrContent(deps, token)
    if (found === undefined) return sendNotFound(reply, NOTHING_TO_INSTALL)
    const wanted = format ?? qrFormatFor(request.headers)
    return wanted === 'page' ? sendPage(reply, qrPage(token, found)) : sendPicture(reply, wanted, found.ac)
  })
  app.get<{ Params: { name: string } }>('/share/:name', { config: LINK }, async (request, reply) => {
    reply.headers(HEADERS)
    const { token, format } = parseName(request.params.name)
    const found = await findSharedEsim(deps, token)
    if (found === undefined) return sendNotFound(reply, NOTHING_TO_SHOW)
    if (format === undefined) {
      // A mail program that looks at a link before its reader does is not the reader.
      if (isPageLoad(request.headers)) await markOpened(deps.db, readShareToken(deps.linkKey, token)!)
      return sendPage(reply, sharePage(token, found))
    }
    return found.codes ? sendPicture(reply, format, found.codes.ac) : sendNotFound(reply, NOTHING_TO_INSTALL)
  })
}

function parseName(name: string): { token: string; format: 'svg' | 'png' | undefined } {
  const [, token = '', format] = /^([A-Za-z0-9_-]+)(?:\.(svg|png))?$/.exec(name) ?? []
  return { token, format: format as 'svg' | 'png' | undefined }
}

function sendPicture(reply: FastifyReply, format: 'svg' | 'png', ac: string) {
  return format === 'svg' ? reply.type('image/svg+xml').send(qrSvg(ac)) : reply.type('image/png').send(qrPng(ac))
}

function sendPage(reply: FastifyReply, page: string) {
  return reply.header('content-security-policy', TRAVELLER_PAGE_POLICY).type('text/html; charset=utf-8').send(page)
}

function sendNotFound(reply: FastifyReply, text: string) {
  return reply.code(404).type('text/plain; charset=utf-8').send(text)
}

export type QrFormat = 'page' | 'png' | 'svg'

/** The request headers that decide the format. */
const QR_VARY = 'Accept, Sec-Fetch-Dest, User-Agent'

/**
 * Decides whether a QR link without a file extension is answered with the page or with a picture. Only a browser that loads
 * a page gets the page: an e-mail's <img>, a chat's preview and curl get the picture.
 */
export function qrFormatFor(headers: IncomingHttpHeaders): QrFormat {
  return isPageLoad(headers) ? 'page' : namesOnlySvg(headers.accept) ? 'svg' : 'png'
}

function isPageLoad(headers: IncomingHttpHeaders): boolean {
  const sentByBrowser = Object.keys(headers).some((name) => name.startsWith('sec-fetch-'))
  if (sentByBrowser) return headers['sec-fetch-dest'] === 'document'
  return mediaRanges(headers.accept).includes('text/html') && !PREVIEWS.test(headers['user-agent'] ?? '')
}

function namesOnlySvg(accept: string | undefined): boolean {
  const ranges = mediaRanges(accept)
  return ranges.length > 0 && ranges.every((range) => range === 'image/svg+xml')
}

/** The media ranges of an Accept header, except those excluded with q=0. */
function mediaRanges(accept = ''): string[] {
  return accept.split(',').flatMap((part) => {
    const [range = '', ...parameters] = part.split(';').map((text) => text.trim().toLowerCase())
    return range === '' || parameters.some((text) => /^q=0(\.0*)?$/.test(text)) ? [] : [range]
  })
}

/**
 * User agents that fetch a link to preview it, some of which accept HTML. Viber and WhatsApp are matched only at the
 * beginning, because browsers inside apps name their app behind "Mozilla". iMessage calls itself facebookexternalhit,
 * Signal WhatsApp.
 */
const PREVIEWS =
  /^viber|^whatsapp|facebookexternalhit|facebot|twitterbot|telegrambot|slackbot|slack-imgproxy|discordbot|linkedinbot|skypeuripreview|microsoftpreview|bingpreview|googleimageproxy|google-pagerenderer|applebot|line-poker|linespider|kakaotalk-scrap|snapchat url preview|pinterestbot|redditbot|vkshare|mattermost-bot|rocket\.chat|embedly|iframely|zulipurlpreview|synapse/i

import type { IncomingHttpHeaders } from 'node:http'

export type QrFormat = 'page' | 'png' | 'svg'

/** The request headers that decide the format. */
export const QR_VARY = 'Accept, Sec-Fetch-Dest, User-Agent'

/**
 * Decides whether a QR link without a file extension is answered with the page or with a picture. Only a browser that loads
 * a page gets the page: an e-mail's <img>, a chat's preview and curl get the picture.
 */
export function qrFormatFor(headers: IncomingHttpHeaders): QrFormat {
  return isPageLoad(headers) ? 'page' : namesOnlySvg(headers.accept) ? 'svg' : 'png'
}

/** True if a browser loads a page, rather than a mail's <img>, a preview or a program. */
export function isPageLoad(headers: IncomingHttpHeaders): boolean {
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

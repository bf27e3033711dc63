import { mailtoUrl } from '#brands/brand.ts'
import { packageTitle, titleText } from '#esims/languages/traveller-title.ts'
import type { OpenedLink } from '#esims/qr/traveller-esim.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { icon, type SceneName, scene } from './icons.ts'
import { html, plain, type Reader, renderPage } from './traveller-page.ts'

type Ended = Exclude<OpenedLink, { kind: 'OPEN' }>

/** The page of a link that was ours and has ended. It shows no code, no ICCID, and not the link that took its place. */
export function endedPage(reader: Reader, { kind, esim }: Ended): string {
  const { seller } = reader
  switch (kind) {
    case 'ENDED': {
      const title = titleText(reader.language, packageTitle(reader.language, esim.packageName, esim.facts))
      const what = `<p><b><bdi>${escapeHtml(title)}</bdi></b></p><p>${plain(reader, 'endedDelete')}</p>`
      return say(reader, 'ended', 'endedTitle', what + shop(reader))
    }
    case 'REPLACED': {
      const what = `<p>${html(reader, 'replacedText', { seller })}</p><p>${html(reader, 'findLatest', { seller })}</p>`
      return say(reader, 'replaced', 'replacedTitle', what + ask(reader))
    }
    case 'USED':
      return say(reader, 'ended', 'installedTitle', `<p>${html(reader, 'installedText', { seller })}</p>${ask(reader)}`)
    default:
      return kind satisfies never
  }
}

/** The page of a link that never was, under the operator's name: nobody knows whose it should be. */
export function unknownPage(reader: Reader): string {
  const what = `<p>${plain(reader, 'mistypedText')}</p><p>${plain(reader, 'findFirst')}</p>`
  return say(reader, 'mistyped', 'mistypedTitle', what)
}

/** The page of a gateway that is overloaded, or whose database does not answer. */
export function unavailablePage(reader: Reader): string {
  return say(reader, undefined, 'unavailableTitle', `<p>${plain(reader, 'unavailableText')}</p>`)
}

function say(
  reader: Reader,
  picture: SceneName | undefined,
  title: 'endedTitle' | 'replacedTitle' | 'installedTitle' | 'mistypedTitle' | 'unavailableTitle',
  content: string,
): string {
  const main = `<section class="card say">${picture ? scene(picture) : ''}<h1>${plain(reader, title)}</h1>${content}</section>`
  return renderPage(reader, { title: reader.language.texts[title], main, columns: 1, sheet: 'message' })
}

function shop(reader: Reader): string {
  const { topUpUrl } = reader.brand
  if (topUpUrl === undefined) return ''
  return `<a class="button" href="${escapeHtml(topUpUrl)}" rel="noreferrer">${html(reader, 'seeShop', { seller: reader.seller })}</a>`
}

function ask(reader: Reader): string {
  const { supportEmail, name } = reader.brand
  if (supportEmail === undefined) return ''
  return `<a class="button" href="${escapeHtml(mailtoUrl(supportEmail))}" rel="noreferrer">${icon('mail')}<span>${html(reader, 'askSeller', { seller: name })}</span></a>`
}

import { packageTitle, titleText } from '#esims/languages/traveller-title.ts'
import type { InstallCodes, TravellerEsim } from '#esims/qr/traveller-esim.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { type StepPicture, stepPicture } from './icons.ts'
import { fact, heading, moment } from './parts.ts'
import { html, plain, type Reader, renderPage } from './traveller-page.ts'

/**
 * The card that a counter prints and hands over: `?card` of a traveller's page, one side of A6, which opens the print dialog. A
 * confirmation code is not on it: anyone who finds the card could install the eSIM.
 */
export function cardPage(reader: Reader, token: string, esim: TravellerEsim, codes: InstallCodes): string {
  const title = titleText(reader.language, packageTitle(reader.language, esim.packageName, esim.facts))
  const before = esim.installBefore && moment(reader, esim.installBefore, esim)
  const main = `${heading(reader, esim, `<dl>${fact(plain(reader, 'installBefore'), before)}</dl>`)}
<div class="scan"><img src="${token}.svg" alt="${plain(reader, 'qrCode')}"><div><h2>${plain(reader, 'scanTitle')}</h2>
<p>${plain(reader, 'stayOnWifi')}</p>${path('iPhone', plain(reader, 'pathIphone'))}${path('Android', plain(reader, 'pathPixel'))}</div></div>
${warnings(reader, codes)}<ol class="steps">${steps(reader)}</ol>
<ul class="codes">${typed(reader, 'smdpAddress', codes.smdpAddress)}${typed(reader, 'activationCode', codes.matchingId)}</ul>`
  const footer = `<span>${plain(reader, 'cardKeep')}</span>`
  return renderPage(reader, { title, main, columns: 1, sheet: 'card', footer, query: 'card&amp;', isPrinted: true })
}

function path(system: string, menus: string): string {
  return `<p class="path"><b><bdi>${system}</bdi></b> ${menus}</p>`
}

/** What the traveller needs beside the card. */
function warnings(reader: Reader, { isConfirmationCodeRequired, kycUrl }: InstallCodes): string {
  const code = isConfirmationCodeRequired && html(reader, 'askForConfirmationCode', { seller: reader.seller })
  const texts = [code, kycUrl !== null && plain(reader, 'identityNeeded')].filter(Boolean)
  return texts.length === 0 ? '' : `<p class="must">${texts.join('<br>')}</p>`
}

function steps(reader: Reader): string {
  const name = reader.language.texts.travel
  const step = (picture: StepPicture, title: string, text: string) =>
    `<li>${stepPicture('i', picture)}<div><h3>${title}</h3><p>${text}</p></div></li>`
  return (
    step('scan', plain(reader, 'scanCode'), plain(reader, 'wait')) +
    step('name', html(reader, 'nameIt', { name }), plain(reader, 'keepOwnLine')) +
    step('roam', plain(reader, 'useForData'), plain(reader, 'roaming'))
  )
}

function typed(reader: Reader, name: 'smdpAddress' | 'activationCode', value: string): string {
  if (value === '') return ''
  return `<li>${plain(reader, name)} <code dir="ltr" translate="no">${escapeHtml(value)}</code></li>`
}

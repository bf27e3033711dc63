import { androidInstallUrl, appleInstallUrl } from '@dealer-esim/contract'
import { packageTitle, titleText } from '#esims/languages/traveller-title.ts'
import type { InstallCodes, TravellerEsim } from '#esims/qr/traveller-esim.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { takesEsim } from './devices-page.ts'
import { icon } from './icons.ts'
import { installSteps } from './install-steps.ts'
import { code, coverage, fact, heading, iccidText, moment, noInternet, row, terms } from './parts.ts'
import { html, plain, type Reader, renderPage } from './traveller-page.ts'

/** The page of an eSIM that is not installed yet: what it is, the one thing to do on this device, then everything else. */
export function installPage(reader: Reader, token: string, esim: TravellerEsim, codes: InstallCodes): string {
  const title = titleText(reader.language, packageTitle(reader.language, esim.packageName, esim.facts))
  const main = `<div class="column">
<section class="card">${heading(reader, esim)}<div class="tear"></div><dl class="facts">${facts(reader, esim)}</dl></section>
${beforehand(reader, codes)}${action(reader, token, codes)}${paper(reader, token, codes)}
<div class="card more screen">${otherPhone(reader, token, codes)}${coverage(reader, esim)}</div>
</div>
<div class="column">
${installSteps(reader)}
<div class="card more screen">${byHand(reader, codes)}${noInternet(reader, esim)}${takesEsim(reader)}</div>
</div>`
  return renderPage(reader, { title, main, columns: 2, sheet: 'install', footer: iccidText(esim) })
}

const STARTS = {
  ON_INSTALL: 'startsOnInstall',
  ON_FIRST_NETWORK: 'startsOnNetwork',
  ON_PURCHASE: 'startsOnPurchase',
} as const

function facts(reader: Reader, esim: TravellerEsim): string {
  const { installBefore, facts } = esim
  return (
    fact(plain(reader, 'installBefore'), installBefore && moment(reader, installBefore, esim)) +
    fact(plain(reader, 'starts'), facts && plain(reader, STARTS[facts.activationPolicy])) +
    terms(reader, esim)
  )
}

/** What must be known or done before the phone begins. */
function beforehand(reader: Reader, { confirmationCode, isConfirmationCodeRequired, kycUrl }: InstallCodes): string {
  const notes = [`<p class="note screen">${icon('wifi')}<span>${plain(reader, 'stayOnWifi')}</span></p>`]
  if (confirmationCode !== null) {
    notes.push(`<div class="card pad screen">${code(plain(reader, 'confirmationCode'), confirmationCode)}</div>`)
  } else if (isConfirmationCodeRequired) {
    notes.push(
      `<p class="note">${icon('keys')}<span>${html(reader, 'askForConfirmationCode', { seller: reader.seller })}</span></p>`,
    )
  }
  if (kycUrl !== null) {
    const link = `<a class="button second" href="${escapeHtml(kycUrl)}" rel="noreferrer">${plain(reader, 'proveIdentity')}</a>`
    notes.push(`<div class="card pad screen"><p>${plain(reader, 'identityNeeded')}</p>${link}</div>`)
  }
  return notes.join('\n')
}

/** The one button of this device. A desktop, whose QR code is for the phone, has none, nor has an iPhone too old for it. */
function action(reader: Reader, token: string, codes: InstallCodes): string {
  const { kind, opensLinks } = reader.phone
  if (kind === 'desktop') {
    return `<section class="card pad screen"><h2>${plain(reader, 'scanTitle')}</h2><p>${plain(reader, 'scanText')}</p>${picture(reader, token, 'qr big')}</section>`
  }
  if (!opensLinks) return ''
  const [name, small, hint] =
    kind === 'iphone'
      ? (['installOnIphone', html(reader, 'iosVersion', { version: IOS_MIN }), 'nothingOnIphone'] as const)
      : (['installOnAndroid', '', 'nothingOnAndroid'] as const)
  const url = kind === 'iphone' ? appleInstallUrl(codes.ac) : androidInstallUrl(codes.ac)
  const label = `${plain(reader, name)}${small && `<small>${small}</small>`}`
  return `<a class="button screen" href="${escapeHtml(url)}" rel="noreferrer">${icon('phone')}<span>${label}</span></a>
<p class="hint screen">${plain(reader, hint)}</p>`
}

/** The first version that opens installation links. */
const IOS_MIN = 'iOS 17.4'

/** The QR code for a second screen, and the button of the other system. */
function otherPhone(reader: Reader, token: string, { ac }: InstallCodes): string {
  const { kind, opensLinks } = reader.phone
  const button = (url: string, name: 'thisIsIphone' | 'thisIsAndroid') =>
    `<a class="button second" href="${escapeHtml(url)}" rel="noreferrer">${plain(reader, name)}</a>`
  const iphone = kind === 'iphone' && opensLinks ? '' : button(appleInstallUrl(ac), 'thisIsIphone')
  const android = kind === 'android' ? '' : button(androidInstallUrl(ac), 'thisIsAndroid')
  const scan = kind === 'desktop' ? '' : `<p>${plain(reader, 'secondScreen')}</p>${picture(reader, token, 'qr')}`
  return row('other', plain(reader, 'anotherPhone'), `${scan}${iphone}${android}`)
}

function picture(reader: Reader, token: string, classes: string): string {
  return `<img class="${classes}" src="${token}.svg" width="264" height="264" alt="${plain(reader, 'qrCode')}">
<p class="links"><a href="${token}.png" download="esim.png">${icon('save')}${plain(reader, 'savePicture')}</a></p>`
}

/** What is printed in the place of the buttons. A confirmation code is not: anyone who finds the paper could install the eSIM. */
function paper(reader: Reader, token: string, { smdpAddress, matchingId }: InstallCodes): string {
  const typed = (name: 'smdpAddress' | 'activationCode', value: string) =>
    `<li>${plain(reader, name)}: <bdi dir="ltr">${escapeHtml(value)}</bdi></li>`
  const lines = `<li>${plain(reader, 'scanTitle')}</li><li>${plain(reader, 'stayOnWifi')}</li>${typed('smdpAddress', smdpAddress)}${matchingId && typed('activationCode', matchingId)}`
  return `<div class="paper"><img src="${token}.svg" alt=""><ul>${lines}</ul></div>`
}

function byHand(reader: Reader, { smdpAddress, matchingId, ac }: InstallCodes): string {
  const { kind, opensLinks } = reader.phone
  const codes = [
    code(plain(reader, 'smdpAddress'), smdpAddress),
    matchingId && code(plain(reader, 'activationCode'), matchingId),
    code(plain(reader, 'inOneLine'), ac),
  ]
  const isOnly = kind === 'iphone' && !opensLinks
  return row('keys', plain(reader, 'manual'), `<p>${plain(reader, 'manualText')}</p>${codes.join('')}`, isOnly)
}

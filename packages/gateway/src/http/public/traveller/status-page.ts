import type { EsimStatus } from '@dealer-esim/contract'
import { formatMoment, formatPart, formatVolume, timeZoneOf } from '#esims/languages/formats.ts'
import type { TextName } from '#esims/languages/texts.ts'
import { textOf } from '#esims/languages/traveller-language.ts'
import { countriesOf, packageTitle, titleText } from '#esims/languages/traveller-title.ts'
import type { TravellerEsim } from '#esims/qr/traveller-esim.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { icon } from './icons.ts'
import { coverage, fact, heading, iccidText, list, moment, noInternet, row, terms } from './parts.ts'
import { html, plain, type Reader, renderPage } from './traveller-page.ts'

/** The page of an eSIM after its installation: what is left, until when, how to get more. */
export function statusPage(reader: Reader, esim: TravellerEsim): string {
  const title = titleText(reader.language, packageTitle(reader.language, esim.packageName, esim.facts))
  const main = `<section class="card">${heading(reader, esim, state(reader, esim))}<div class="tear"></div>
${usage(reader, esim)}<div class="tear"></div>
<dl class="facts">${facts(reader, esim)}</dl></section>
${moreData(reader)}
<div class="card more screen">${noInternet(reader, esim)}${backHome(reader)}${coverage(reader, esim)}</div>`
  return renderPage(reader, { title, main, columns: 1, sheet: 'status', footer: iccidText(esim) })
}

const STATES: Readonly<Record<EsimStatus, TextName>> = {
  GOT_RESOURCE: 'notInUse',
  IN_USE: 'inUse',
  USED_UP: 'usedUp',
  USED_EXPIRED: 'expired',
  UNUSED_EXPIRED: 'unusedExpired',
  // Their links have ended, so no page shows them.
  CANCEL: 'expired',
  REVOKED: 'expired',
}

function state(reader: Reader, { esimStatus, suspended }: TravellerEsim): string {
  const isOn = esimStatus === 'IN_USE' && !suspended
  return `<span class="state${isOn ? ' on' : ''}">${plain(reader, suspended ? 'suspended' : STATES[esimStatus])}</span>`
}

function facts(reader: Reader, esim: TravellerEsim): string {
  const { esimStatus, installBefore, expiredTime, installationTime } = esim
  const isUnused = esimStatus === 'GOT_RESOURCE' || esimStatus === 'UNUSED_EXPIRED'
  return (
    fact(plain(reader, 'installBefore'), isUnused ? installBefore && moment(reader, installBefore, esim) : null) +
    fact(plain(reader, 'validUntil'), expiredTime && moment(reader, expiredTime, esim)) +
    fact(plain(reader, 'installed'), installationTime && moment(reader, installationTime, esim)) +
    terms(reader, esim)
  )
}

/** A ring of what is left, and when it was reported. More used than there is leaves nothing, never less. */
function usage(reader: Reader, esim: TravellerEsim): string {
  const { orderUsage, totalVolume } = esim
  const { language } = reader
  const total = totalVolume === null ? language.texts.unlimited : formatVolume(language, totalVolume)
  if (orderUsage === null || totalVolume === null || totalVolume === 0n) {
    const used =
      orderUsage === null
        ? ''
        : textOf(language, 'usedOf', { used: formatPart(language, totalVolume, orderUsage), total })
    return `<div class="ring"><p><b><bdi>${escapeHtml(total)}</bdi></b></p></div><p class="hint gap">${escapeHtml(used)} ${reportTime(reader, esim)}</p>`
  }
  const left = orderUsage >= totalVolume ? 0n : totalVolume - orderUsage
  const percent = Number((left * 100n) / totalVolume)
  const shown = formatPart(language, totalVolume, left)
  const label = escapeHtml(`${shown} ${textOf(language, 'leftOf', { total })}`)
  const used = html(reader, 'usedOf', { used: formatPart(language, totalVolume, orderUsage), total })
  return `<div class="ring"><svg viewBox="0 0 120 120" role="img" aria-label="${label}"><circle cx="60" cy="60" r="52" fill="none" stroke="var(--line)" stroke-width="9"/>${arc(percent)}</svg><p aria-hidden="true"><b><bdi>${escapeHtml(shown)}</bdi></b>${html(reader, 'leftOf', { total })}</p></div>
<p class="hint gap">${used}. ${reportTime(reader, esim)}</p>`
}

function arc(percent: number): string {
  if (percent === 0) return ''
  return `<circle cx="60" cy="60" r="52" fill="none" stroke="var(--accent-text)" stroke-width="9" stroke-linecap="round" pathLength="100" stroke-dasharray="${percent} 100" transform="rotate(-90 60 60)"/>`
}

function reportTime(reader: Reader, { usageUpdateTime, facts }: TravellerEsim): string {
  if (usageUpdateTime === null) return plain(reader, 'noUsage')
  const zone = timeZoneOf(countriesOf(facts))
  return html(reader, 'reported', { time: formatMoment(reader.language, usageUpdateTime, zone) })
}

/** The seller's own shop: the gateway sells nothing to travellers. */
function moreData(reader: Reader): string {
  const { topUpUrl } = reader.brand
  if (topUpUrl === undefined) return ''
  const seller = `<small><bdi>${escapeHtml(reader.seller)}</bdi></small>`
  return `<a class="button screen" href="${escapeHtml(topUpUrl)}" rel="noreferrer">${icon('plus')}<span>${plain(reader, 'moreData')}${seller}</span></a>`
}

function backHome(reader: Reader): string {
  return row('home', plain(reader, 'backHome'), list([plain(reader, 'ownLineAgain'), plain(reader, 'keepEsim')]))
}

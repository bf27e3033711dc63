import { countryNames, formatClock, formatDate, timeZoneOf } from '#esims/languages/formats.ts'
import { countriesOf, packageTitle } from '#esims/languages/traveller-title.ts'
import type { TravellerEsim } from '#esims/qr/traveller-esim.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { type IconName, icon } from './icons.ts'
import { html, plain, type Reader } from './traveller-page.ts'

/* What several pages show. Texts named `label` or `content` are HTML. */

/** What was bought: flag, place, data and days. @param state shown beside it */
export function heading(reader: Reader, esim: TravellerEsim, state = ''): string {
  const { place, terms } = packageTitle(reader.language, esim.packageName, esim.facts)
  const [only, ...others] = countriesOf(esim.facts)
  const flag =
    only !== undefined && others.length === 0
      ? `<img class="flag" src="../flags/${only}.svg" width="60" height="40" alt="">`
      : ''
  const isolated = terms.map((term) => `<bdi>${escapeHtml(term)}</bdi>`)
  const second = isolated.length === 0 ? '' : ` <span>${isolated.join(' · ')}</span>`
  return `<div class="what${state && ' many'}">${flag}<h1><bdi>${escapeHtml(place)}</bdi>${second}</h1>${state}</div>`
}

/** @param content undefined: nothing is known, so nothing is shown */
export function fact(label: string, content: string | undefined | null, isWide = false): string {
  if (content === undefined || content === null || content === '') return ''
  return `<div${isWide ? ' class="wide"' : ''}><dt>${label}</dt><dd>${content}</dd></div>`
}

/** A date with its time and zone, in the time of the destination. */
export function moment({ language }: Reader, time: Date, esim: TravellerEsim): string {
  const zone = timeZoneOf(countriesOf(esim.facts))
  return `${escapeHtml(formatDate(language, time, zone))}<small>${escapeHtml(formatClock(language, time, zone))}</small>`
}

/** What the seller says about the package today, and the eSIM's number. */
export function terms(reader: Reader, { fupPolicy, description, msisdn }: TravellerEsim): string {
  const typed = (text: string | null) => text && `<bdi>${escapeHtml(text)}</bdi>`
  const number = msisdn && `<bdi dir="ltr" translate="no">${escapeHtml(msisdn)}</bdi>`
  return (
    fact(plain(reader, 'fairUse'), typed(fupPolicy), true) +
    fact(plain(reader, 'description'), typed(description), true) +
    fact(plain(reader, 'phoneNumber'), number)
  )
}

/** A part of the page that opens with a tap. */
export function row(name: IconName, label: string, content: string, isOpen = false): string {
  return `<details class="row"${isOpen ? ' open' : ''}><summary>${icon(name)}<span>${label}</span>${icon('down', 'more')}</summary>
<div class="in">${content}</div></details>`
}

/** A code that one tap selects, and that the script gives a button to copy it. */
export function code(label: string, value: string): string {
  return `<div class="code"><span>${label}</span><code dir="ltr" translate="no">${escapeHtml(value)}</code></div>`
}

export function list(items: readonly string[]): string {
  return `<ul>${items.map((item) => `<li>${item}</li>`).join('')}</ul>`
}

/** The countries of a package for several; empty for one. */
export function coverage(reader: Reader, { facts }: TravellerEsim): string {
  const countries = countriesOf(facts)
  if (countries.length < 2) return ''
  const names = countryNames(reader.language, countries)
  const text = new Intl.ListFormat(reader.language.tag, { style: 'narrow', type: 'unit' }).format(names)
  return row('globe', plain(reader, 'worksIn'), `<p>${escapeHtml(text)}</p>`)
}

export function noInternet(reader: Reader, { apn }: TravellerEsim): string {
  const travel = reader.language.texts.travel
  const hints = [
    html(reader, 'checkRoaming', { name: travel }),
    plain(reader, 'restart'),
    plain(reader, 'chooseNetwork'),
  ]
  const accessPoint = apn === null ? '' : code(plain(reader, 'apn'), apn)
  return row('signal', plain(reader, 'noInternet'), list(hints) + accessPoint)
}

export function iccidText({ iccid }: TravellerEsim): string {
  return `<span>ICCID <bdi dir="ltr" translate="no">${escapeHtml(iccid)}</bdi></span>`
}

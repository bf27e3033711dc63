import { type Device, findDevice, getDevices, sinceText } from '#esims/devices.ts'
import { formatDate } from '#esims/languages/formats.ts'
import { fill } from '#esims/languages/traveller-language.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { list, row } from './parts.ts'
import { html, plain, type Reader, renderPage } from './traveller-page.ts'

/** “Does my phone take an eSIM?”: what this phone says of itself, how to be sure, and the list. Never a promise. */
export function takesEsim(reader: Reader): string {
  const { phone } = reader
  const name = shouldTake(reader)
  const answer = name === undefined ? '' : `<p class="good">${html(reader, 'itShould', { phone: name })}</p>`
  const dial = fill(plain(reader, 'dial'), { code: '<bdi dir="ltr">*#06#</bdi>' })
  const model = phone.kind === 'android' ? 'sameModel' : 'appleModels'
  const hints = list([dial, plain(reader, model), plain(reader, 'locked')])
  const link = `<p><a href="?devices">${plain(reader, 'phones')}</a></p>`
  return row('question', plain(reader, 'takesEsim'), answer + hints + link)
}

/** The phone's name, if the list or its system says that it takes an eSIM: iOS 17 runs on no iPhone without one. */
function shouldTake({ phone }: Reader): string | undefined {
  if (phone.kind === 'iphone') return phone.opensLinks ? 'iPhone' : undefined
  const { model } = phone
  if (model === null) return undefined
  const known = findDevice(model)
  return known && `${known.brand} ${known.model}`
}

/** The list of phones, under the seller's name: `?devices` of a traveller's page. */
export function devicesPage(reader: Reader): string {
  const { devices, asOf } = getDevices()
  const date = formatDate(reader.language, new Date(`${asOf}T00:00:00Z`), 'UTC')
  const rows = devices.map((device) => tableRow(device)).join('')
  const main = `<section class="card pad"><h1>${plain(reader, 'phones')}</h1>
<p class="minor">${html(reader, 'phonesAsOf', { date })}</p>
<table translate="no" dir="ltr" lang="en"><tbody>${rows}</tbody></table></section>`
  return renderPage(reader, {
    title: reader.language.texts.phones,
    main,
    columns: 1,
    sheet: 'table',
    query: 'devices&amp;',
  })
}

function tableRow(device: Device): string {
  const note = [sinceText(device), device.note].filter(Boolean).join(', ')
  return `<tr><th scope="row">${escapeHtml(`${device.brand} ${device.model}`)}</th><td>${escapeHtml(note)}</td></tr>`
}

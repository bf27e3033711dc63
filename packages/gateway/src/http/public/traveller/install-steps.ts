import type { PhoneMaker, StepPicture } from './icons.ts'
import { icon, stepPicture } from './icons.ts'
import { html, plain, type Reader } from './traveller-page.ts'

/** The steps with pictures: those of this phone, and on a desktop of each kind of phone, one open at a time. */
export function installSteps(reader: Reader): string {
  const { kind, isSamsung } = reader.phone
  const title = `<h2>${plain(reader, 'steps')}</h2>`
  if (kind === 'iphone') return `<section class="card pad">${title}${stepsOf(reader, 'i')}</section>`
  const makers: readonly PhoneMaker[] = kind === 'android' ? ['p', 'g'] : ['i', 'p', 'g']
  const open = isSamsung ? 'g' : makers[0]
  const rows = makers.map((maker) => {
    const summary = `<summary>${icon('phone')}<span>${makerName(reader, maker)}</span>${icon('down', 'more')}</summary>`
    return `<details class="row" name="maker"${maker === open ? ' open' : ''}>${summary}<div class="in">${stepsOf(reader, maker)}</div></details>`
  })
  return `<section class="card"><div class="pad">${title}</div>${rows.join('')}</section>`
}

function makerName(reader: Reader, maker: PhoneMaker): string {
  if (maker === 'p') return plain(reader, 'otherPhones')
  return `<bdi>${maker === 'i' ? 'iPhone' : 'Samsung Galaxy'}</bdi>`
}

const PATHS = { i: 'pathIphone', p: 'pathPixel', g: 'pathSamsung' } as const

function stepsOf(reader: Reader, maker: PhoneMaker): string {
  const travel = reader.language.texts.travel
  const path = plain(reader, PATHS[maker])
  const hasButton = reader.phone.opensLinks
  const step = (picture: StepPicture, heading: string, ...texts: string[]) =>
    `<li>${stepPicture(maker, picture)}<div><h3>${heading}</h3>${texts.map((text) => `<p>${text}</p>`).join('')}</div></li>`
  const first = hasButton
    ? step('install', plain(reader, 'tapButton'), plain(reader, 'wait'))
    : step('scan', plain(reader, 'scanCode'), plain(reader, 'wait'))
  return `<p class="when">${plain(reader, 'nowOnWifi')}</p>
<ol class="steps">${first}${step('name', html(reader, 'nameIt', { name: travel }), plain(reader, 'keepOwnLine'))}</ol>
<p class="when">${plain(reader, 'onArrival')}</p>
<ol class="steps" start="3">${step('data', plain(reader, 'useForData'), path)}${step('roam', plain(reader, 'roaming'), html(reader, 'roamingText', { name: travel }))}</ol>`
}

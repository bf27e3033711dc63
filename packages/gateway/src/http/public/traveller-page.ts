import { createHash } from 'node:crypto'
import {
  androidInstallUrl,
  appleInstallUrl,
  type EsimStatus,
  readPartOf,
  readVolume,
  volumeText,
} from '@dealer-esim/contract'
import type { PackageTerms, QrContent, SharedEsim } from '#esims/qr/qr-content.ts'
import { escapeHtml } from './docs-page.ts'

/**
 * The page that a traveller sees. It is mostly opened on the phone that will get the eSIM, so links for that phone come
 * first. Links are relative, so that a proxy's path prefix does not matter.
 */
export function qrPage(token: string, content: QrContent): string {
  const number = content.msisdn === null ? '' : `\n<dl>\n${fact('Phone number', content.msisdn)}\n</dl>`
  const body = `${installation(token, content)}${number}${termsList(content.terms)}`
  return htmlPage('Install your eSIM', content.packageName, body, content.iccid)
}

/**
 * The page of a share link: until installation what qrPage shows, then status, usage and validity. Times are in UTC,
 * because the page has no script that knows the traveller's time zone.
 */
export function sharePage(token: string, esim: SharedEsim): string {
  const title = esim.codes ? 'Install your eSIM' : 'Your eSIM'
  const body = `${esim.codes ? `${installation(token, esim.codes)}\n<h2>Your eSIM</h2>\n` : ''}${statusList(esim)}${termsList(esim.terms)}`
  return htmlPage(title, esim.packageName, body, esim.iccid)
}

const STATUS: Record<EsimStatus, string> = {
  GOT_RESOURCE: 'Not in use yet',
  IN_USE: 'In use',
  USED_UP: 'All data is used',
  USED_EXPIRED: 'Expired',
  UNUSED_EXPIRED: 'Expired without being used',
  CANCEL: 'Cancelled',
  REVOKED: 'Revoked',
}

function statusList(esim: SharedEsim): string {
  const { esimStatus, suspended, installBefore, installationTime, expiredTime, usageUpdateTime, msisdn, apn } = esim
  const isUnused = esimStatus === 'GOT_RESOURCE' || esimStatus === 'UNUSED_EXPIRED'
  return `<dl>
${fact('Status', suspended ? `${STATUS[esimStatus]}, suspended` : STATUS[esimStatus])}
${fact('Data', usageText(esim))}${usageBar(esim)}
${usageUpdateTime ? fact('Usage reported', timeText(usageUpdateTime)) : ''}
${isUnused && installBefore ? fact('Install before', timeText(installBefore)) : ''}
${installationTime ? fact('Installed', timeText(installationTime)) : ''}
${expiredTime ? fact('Valid until', timeText(expiredTime)) : ''}
${msisdn === null ? '' : fact('Phone number', msisdn)}
${apn === null || esim.codes ? '' : manualEntry('APN, if mobile data does not work', apn)}
</dl>`
}

/** The package's contents, and the condition under which it is unlimited or fast. */
function termsList({ description, fupPolicy }: PackageTerms): string {
  if (description === null && fupPolicy === null) return ''
  return `
<h2>Your package</h2>
<dl>
${description === null ? '' : fact('Description', description)}
${fupPolicy === null ? '' : fact('Fair use', fupPolicy)}
</dl>`
}

function fact(name: string, value: string): string {
  return `<dt>${name}</dt><dd>${escapeHtml(value)}</dd>`
}

function usageText({ orderUsage, totalVolume }: SharedEsim): string {
  const total = totalVolume === null ? 'unlimited' : volumeText(readVolume(totalVolume))
  return orderUsage === null ? total : `${volumeText(readPartOf(totalVolume, orderUsage))} used of ${total}`
}

/** A bar that is full if more usage is reported than the package has. */
function usageBar({ orderUsage, totalVolume }: SharedEsim): string {
  if (orderUsage === null || totalVolume === null || totalVolume === 0n) return ''
  const percent = Math.min(100, Number((orderUsage * 100n) / totalVolume))
  return `\n<dd><progress max="100" value="${percent}" aria-label="Data used">${percent} %</progress></dd>`
}

function timeText(time: Date): string {
  const text = time.toLocaleString('en-GB', { timeZone: 'UTC', dateStyle: 'long', timeStyle: 'short' })
  return `${text} UTC`
}

function installation(token: string, content: QrContent): string {
  const { ac, smdpAddress, matchingId, apn, kycUrl } = content
  const identity =
    kycUrl === null
      ? ''
      : `<p>The eSIM works only after the network has checked who you are.</p>
<p><a class="button" href="${escapeHtml(kycUrl)}" rel="noreferrer">Prove your identity</a></p>
`
  return `<p>Stay connected to Wi-Fi or mobile data during the installation. The eSIM can be installed only once.</p>
${confirmation(content)}${identity}<h2>On this phone</h2>
<p><a class="button" href="${escapeHtml(appleInstallUrl(ac))}" rel="noreferrer">Install on this iPhone <small>iOS 17.4 or later</small></a></p>
<p><a class="button" href="${escapeHtml(androidInstallUrl(ac))}" rel="noreferrer">Install on this Android phone</a></p>
<h2>On another phone</h2>
<p>Add an eSIM in the phone's settings and scan this code.</p>
<p><img src="${token}.svg" alt="QR code that installs the eSIM"></p>
<p><a href="${token}.png" download="esim.png">Save as image</a></p>
<h2>Or enter manually</h2>
<dl>
${manualEntry('SM-DP+ address', smdpAddress)}
${matchingId === '' ? '' : manualEntry('Activation code', matchingId)}
${manualEntry('Both in one line, if your phone asks for it', ac)}
${apn === null ? '' : manualEntry('APN, if mobile data does not work', apn)}
</dl>`
}

/** The code that the phone asks for in every way of installing. */
function confirmation({ confirmationCode, isConfirmationCodeRequired }: QrContent): string {
  if (confirmationCode !== null) {
    return `<dl>\n${manualEntry('Confirmation code, for which your phone will ask', confirmationCode)}\n</dl>\n`
  }
  if (!isConfirmationCodeRequired) return ''
  return '<p>Your phone will ask for a confirmation code. Ask your seller for it before you begin.</p>\n'
}

function htmlPage(title: string, heading: string, body: string, iccid: string): string {
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="referrer" content="no-referrer">
<title>${title}</title>
<link rel="icon" href="../docs/icon.svg" type="image/svg+xml">
<style>${STYLE}</style>
</head>
<body>
<main>
<h1>${escapeHtml(heading)}</h1>
${body}
<p><small>ICCID ${escapeHtml(iccid)}</small></p>
</main>
</body>
</html>
`
}

function manualEntry(name: string, value: string): string {
  return `<dt>${name}</dt><dd><code translate="no">${escapeHtml(value)}</code></dd>`
}

/** user-select: all lets one tap select a whole code. */
const STYLE = `
:root { color-scheme: light dark; --ground: #fcfcfb; --panel: #f0f2ef; --ink: #1d2326; --soft: #56616a; --accent: #1b6a5c; --on-accent: #fff }
@media (prefers-color-scheme: dark) {
  :root { --ground: #15191b; --panel: #242b2e; --ink: #e3e7e6; --soft: #a3aeb2; --accent: #6fc7b3; --on-accent: #0d1f1b }
}
* { box-sizing: border-box }
body { margin: 0; background: var(--ground); color: var(--ink); font: 17px/1.5 system-ui, sans-serif; -webkit-text-size-adjust: 100% }
main { max-width: 26rem; margin: 0 auto; padding: 1.5rem 1.25rem 3rem }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .75rem; overflow-wrap: anywhere }
h2 { font-size: 1.1rem; margin: 2rem 0 .5rem }
p { margin: 0 0 .75rem }
a { color: var(--accent); text-underline-offset: .15em }
a:focus-visible { outline: 3px solid var(--accent); outline-offset: 3px }
.button { display: block; padding: .8rem 1rem; border-radius: .6rem; background: var(--accent); color: var(--on-accent); font-weight: 600; text-align: center; text-decoration: none }
.button small { display: block; color: inherit; font-weight: 400 }
img { display: block; width: 100%; max-width: 20rem; aspect-ratio: 1; margin: 0 auto; background: #fff; border-radius: .6rem }
progress { width: 100%; height: 1rem; accent-color: var(--accent) }
dl { margin: 0 0 1rem }
dt { color: var(--soft); font-size: .9rem }
dd { margin: .2rem 0 .9rem }
dd:has(+ dd) { margin-bottom: .2rem }
code { display: block; padding: .6rem .75rem; border-radius: .4rem; background: var(--panel); font: .95rem/1.4 ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; overflow-wrap: anywhere; -webkit-user-select: all; user-select: all }
small { color: var(--soft); font-size: .875rem }
`

/** No scripts, forms or frames; pictures only from here; only this page's own style. */
export const TRAVELLER_PAGE_POLICY = [
  "default-src 'none'",
  "img-src 'self'",
  `style-src 'sha256-${createHash('sha256').update(STYLE).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

import { brandColours, DEFAULT_ACCENT } from '@dealer-esim/contract'
import { type Brand, mailtoUrl } from '#brands/brand.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { BREAKS, buttonOf, columnOf, headOf } from './mail-parts.ts'

/** An e-mail to a traveller in its language. Only the look is missing, which its brand gives it when it is sent. */
export interface TravellerMail {
  /** BCP 47 */
  language: string
  direction: 'ltr' | 'rtl'
  /** The name of the dealer who sold the eSIM, or of its brand. */
  seller: string
  subject: string
  /** `Hello Hana, your eSIM is ready.`; empty for an eSIM that is installed. */
  greeting: string
  place: string
  /** `5 GB · 3 days`; may be empty. */
  terms: string
  facts: readonly { label: string; value: string }[]
  button: { label: string; url: string }
  /** What to do on which device. */
  advice: string
  /** Absent once the eSIM is installed. */
  scan?: { title: string; text: string; alt: string; qrPng: string }
  /** Where a reply is read. */
  questions: string
  why: string
  keep: string
}

/** The content ids of the pictures in the e-mail. */
export const QR = 'qr'

/**
 * Writes the e-mail. Its text names no code: a list of mails shows the beginning of a text, and a code installs the eSIM.
 * @param brand undefined: for a gateway of the release before, which knows no brand and sends no picture
 * @param logo the content id of the brand's logo in the same e-mail
 */
export function composeTravellerMail(
  mail: TravellerMail,
  brand?: Brand,
  logo?: string,
): Record<'subject' | 'text' | 'html', string> {
  return { subject: mail.subject, text: textOf(mail, brand), html: htmlOf(mail, brand, logo) }
}

function textOf(mail: TravellerMail, brand: Brand | undefined): string {
  const { greeting, place, terms, facts, button, advice, scan, why, keep } = mail
  const title = terms === '' ? place : `${place} · ${terms}`
  const what = [title, ...facts.map(({ label, value }) => `${label}: ${value}`)].join('\n')
  const action = `${button.label}:\n${button.url}`
  const help = [isReplyRead(brand) ? mail.questions : '', ...contactOf(brand)].filter((line) => line !== '').join('\n')
  const computer = scan && `${scan.title} ${scan.text}`
  const legal = (brand?.legalLinks ?? []).map(({ label, url }) => `${label}: ${url}`)
  const small = ['-- ', why, keep, ...legal].join('\n')
  return [greeting, what, action, advice, computer, help, small].filter(Boolean).join('\n\n')
}

function isReplyRead(brand: Brand | undefined): boolean {
  return (brand?.replyTo ?? brand?.supportEmail) !== undefined
}

function contactOf(brand: Brand | undefined): string[] {
  return [brand?.supportEmail, brand?.supportPhone, brand?.supportHours].filter((line) => line !== undefined)
}

const FONT = "font-family:-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif"

// Mail programs ignore most of a style sheet, so styles are inline; those of the dark scheme and of a phone cannot be.
function htmlOf(mail: TravellerMail, brand: Brand | undefined, logo: string | undefined): string {
  const { language, direction, seller, subject, greeting, place, terms, facts, advice, why, keep } = mail
  const colours = brand?.colours ?? brandColours(DEFAULT_ACCENT)
  const text = (size: number, colour: 'ink' | 'soft', more = '') =>
    `class="${colour}" style="margin:0;font-size:${size}px;line-height:${Math.round(size * 1.45)}px;color:${colour === 'ink' ? '#1b1f23' : '#555d65'};${more}"`
  const start = direction === 'rtl' ? 'right' : 'left'
  const fact = ({ label, value }: { label: string; value: string }) =>
    `<p ${text(14, 'soft', 'padding-top:12px')}>${escapeHtml(label)}</p><p dir="auto" ${text(16, 'ink', `font-weight:700;text-align:${start}`)}>${escapeHtml(value)}</p>`
  return `<!doctype html>
<html lang="${language}" dir="${direction}"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><meta name="format-detection" content="telephone=no, date=no, address=no"><title>${escapeHtml(subject)}</title>
<style>${sheetOf(colours)}</style></head>
<body class="bg" style="margin:0;padding:0;background:#f6f5f1;${FONT};-webkit-text-size-adjust:100%">
<div class="bg" dir="${direction}" style="padding:24px 12px 32px;background:#f6f5f1;${BREAKS}">
${columnOf(`${headOf(seller, logo)}
<div class="card pad" style="padding:28px 32px 32px;background:#ffffff;border:1px solid #e2dfd8;border-radius:18px">
${greeting === '' ? '' : `<p ${text(16, 'soft', 'padding-bottom:10px')}>${escapeHtml(greeting)}</p>`}
<h1 ${text(27, 'ink')}>${escapeHtml(place)}</h1>
<p ${text(18, 'soft')}>${escapeHtml(terms)}</p>
${facts.map(fact).join('\n')}
${buttonOf(mail.button, colours)}
<p ${text(15, 'soft', 'text-align:center')}>${escapeHtml(advice)}</p>
${brand === undefined ? '' : scanOf(mail, text(16, 'ink', 'font-weight:700'), text(15, 'ink'))}
</div>
<div class="soft" style="padding:20px 8px 0;font-size:14px;line-height:21px;color:#555d65">
${helpOf(mail, brand, colours)}
<p style="margin:0">${escapeHtml(why)}<br>${escapeHtml(keep)}</p>
${legalOf(brand, colours)}
</div>`)}
</div></body></html>`
}

function sheetOf({ dark }: Brand['colours']): string {
  return `:root{color-scheme:light dark}
@media (max-width:480px){.pad{padding:20px!important}.half{display:block!important;width:auto!important}}
@media (prefers-color-scheme:dark){.bg{background:#111416!important}.card{background:#1b1f22!important;border-color:#343a3f!important}.box{background:${dark.tint}!important}.ink{color:#eceff0!important}.soft{color:#a9b2b8!important}.link{color:${dark.text}!important}.edge{border-color:${dark.edge}!important}}`
}

/** The QR code stands for a reader whose phone is not the screen. It is black on white, also in the dark. */
function scanOf({ scan }: TravellerMail, title: string, text: string): string {
  if (scan === undefined) return ''
  return `<table role="presentation" class="box" width="100%" cellpadding="0" cellspacing="0" border="0" style="margin-top:24px;background:#f6f5f1;border-radius:14px"><tr>
<td class="half" width="180" align="center" style="padding:16px"><img src="cid:${QR}" width="148" height="148" alt="${escapeHtml(scan.alt)}" style="display:block;border:0;border-radius:10px;background:#ffffff"></td>
<td class="half" valign="middle" style="padding:16px"><p ${title}>${escapeHtml(scan.title)}</p><p ${text}>${escapeHtml(scan.text)}</p></td>
</tr></table>`
}

function helpOf({ questions }: TravellerMail, brand: Brand | undefined, colours: Brand['colours']): string {
  const { supportEmail, supportPhone, supportHours } = brand ?? {}
  const lines = [
    isReplyRead(brand) && `<b>${escapeHtml(questions)}</b>`,
    supportEmail && link(mailtoUrl(supportEmail), supportEmail, colours),
    supportPhone && link(`tel:${supportPhone.replaceAll(/[^\d+]/g, '')}`, supportPhone, colours),
    supportHours && escapeHtml(supportHours),
  ].filter(Boolean)
  return lines.length === 0 ? '' : `<p style="margin:0 0 12px">${lines.join('<br>')}</p>`
}

function legalOf(brand: Brand | undefined, colours: Brand['colours']): string {
  const links = (brand?.legalLinks ?? []).map(({ label, url }) => link(url, label, colours))
  return links.length === 0 ? '' : `<p style="margin:12px 0 0">${links.join(' · ')}</p>`
}

function link(href: string, text: string, { light }: Brand['colours']): string {
  return `<a class="link" href="${escapeHtml(href)}" dir="auto" style="color:${light.text}">${escapeHtml(text)}</a>`
}

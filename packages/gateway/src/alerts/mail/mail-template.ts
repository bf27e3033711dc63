import { brandColours, DEFAULT_ACCENT } from '@dealer-esim/contract'
import { type Brand, mailtoUrl } from '#brands/brand.ts'
import { peopleLanguage, withLocalTimes } from '#people/languages/people-language.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { BREAKS, buttonOf, columnOf, headOf } from './mail-parts.ts'
import type { TravellerMail } from './traveller-mail.ts'

/** An e-mail as plain text and as HTML with the same content. */
export interface MailText {
  subject: string
  text: string
  html: string
  /** What both were composed from: it is composed again, under the brand of the moment, when the e-mail is sent. */
  parts?: MailParts
  /** In the place of `parts`, of an e-mail to a traveller. */
  traveller?: TravellerMail
}

/** A page to open, as a button in HTML. */
export interface MailLink {
  label: string
  url: string
}

/** How a person reads. null: in English, with times in UTC. */
export interface MailReader {
  /** BCP 47: `zh-Hans`. */
  language: string | null
  /** `Asia/Shanghai` */
  timeZone: string | null
}

/** In English: the e-mail is composed from them in the language of its reader. */
export interface MailParts {
  subject: string
  /** Links, and paragraphs without line breaks, because mail programs wrap text themselves. */
  paragraphs: readonly (string | MailLink)[]
  /** Why the reader receives the e-mail, in small print. */
  footer: string
  /** Absent from e-mails of a gateway of the release before. */
  reader?: MailReader
}

/** Writes both forms without a brand. All texts are escaped, because names and messages may contain anything. */
export function composeMail(parts: MailParts): MailText {
  return { ...composeInBrand(parts, undefined, undefined), parts }
}

/** @param logo the content id of the brand's logo in the same e-mail */
export function composeInBrand(english: MailParts, brand: Brand | undefined, logo: string | undefined): MailText {
  const { tag, parts, translate } = inLanguageOf(english)
  const { subject, paragraphs } = parts
  const texts = paragraphs.map((part) => (typeof part === 'string' ? part : `${part.label}:\n${part.url}`))
  const footer = `${parts.footer} ${translate(replyText(brand))}`
  const signature = brand ? [`-- \n${contactOf(brand).join('\n')}`] : []
  return {
    subject,
    text: [...texts, footer, ...signature].join('\n\n'),
    html: htmlOf({ ...parts, footer }, { tag, orOpen: translate('Or open this address:') }, brand, logo),
  }
}

function inLanguageOf({ reader, ...parts }: MailParts) {
  const { tag, translate } = peopleLanguage(reader?.language)
  const written = (text: string) => withLocalTimes(translate(text), tag, reader?.timeZone ?? null)
  const paragraphs = parts.paragraphs.map((part) =>
    typeof part === 'string' ? written(part) : { ...part, label: translate(part.label) },
  )
  return {
    ...{ tag, translate },
    parts: { subject: written(parts.subject), paragraphs, footer: translate(parts.footer) },
  }
}

function replyText(brand: Brand | undefined): string {
  const isRead = brand?.replyTo !== undefined || brand?.supportEmail !== undefined
  return isRead ? `Your reply reaches ${brand.name}.` : 'This e-mail was sent automatically; replies are not read.'
}

/** Name, address, telephone number and hours, as far as they are set. */
function contactOf({ name, supportEmail, supportPhone, supportHours }: Brand): string[] {
  return [name, supportEmail, supportPhone, supportHours].filter((line) => line !== undefined)
}

// Mail programs ignore most of a style sheet, so styles are inline; those of the dark scheme cannot be. Nothing is loaded from elsewhere.
const FONT = "font-family:-apple-system,'Segoe UI',Roboto,'Noto Sans',Arial,sans-serif"
const INK = { light: '#1b1f23', dark: '#eceff0' }
const SOFT = { light: '#555d65', dark: '#a9b2b8' }
const GROUND = { light: '#f6f5f1', dark: '#111416' }
const CARD = { light: '#ffffff', dark: '#1b1f22' }
const LINE = { light: '#e2dfd8', dark: '#343a3f' }

function htmlOf(
  { subject, paragraphs, footer }: MailParts,
  { tag, orOpen }: { tag: string; orOpen: string },
  brand: Brand | undefined,
  logo: string | undefined,
): string {
  const colours = brand?.colours ?? brandColours(DEFAULT_ACCENT)
  const { light, dark } = colours
  const style = `:root{color-scheme:light dark}
@media (prefers-color-scheme:dark){.bg{background:${GROUND.dark}!important}.card{background:${CARD.dark}!important;border-color:${LINE.dark}!important}.ink{color:${INK.dark}!important}.soft{color:${SOFT.dark}!important}.link{color:${dark.text}!important}.edge{border-color:${dark.edge}!important}}`
  const ink = `class="ink" style="margin:0 0 16px;font-size:16px;line-height:25px;color:${INK.light}"`
  const link = (href: string, text: string) =>
    `<a class="link" href="${escapeHtml(href)}" style="color:${light.text};word-break:break-all">${escapeHtml(text)}</a>`
  const button = (action: MailLink) => `${buttonOf(action, colours)}
<p class="soft" style="margin:0 0 16px;font-size:14px;line-height:21px;color:${SOFT.light}">${escapeHtml(orOpen)} ${link(action.url, action.url)}</p>`
  const body = paragraphs.map((part) => (typeof part === 'string' ? `<p ${ink}>${escapeHtml(part)}</p>` : button(part)))
  return `<!doctype html>
<html lang="${tag}" dir="ltr"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="color-scheme" content="light dark"><meta name="supported-color-schemes" content="light dark"><title>${escapeHtml(subject)}</title>
<style>${style}</style></head>
<body class="bg" style="margin:0;padding:0;background:${GROUND.light};${FONT};-webkit-text-size-adjust:100%">
<div class="bg" style="padding:24px 12px 32px;background:${GROUND.light};${BREAKS}">
${columnOf(`${brand ? headOf(brand.name, logo) : ''}
<div class="card" style="padding:28px 28px 14px;background:${CARD.light};border:1px solid ${LINE.light};border-radius:16px">
<h1 class="ink" style="margin:0 0 16px;font-size:24px;line-height:31px;color:${INK.light}">${escapeHtml(subject)}</h1>
${body.join('\n')}
</div>
<div class="soft" style="padding:20px 8px 0;font-size:13px;line-height:20px;color:${SOFT.light}">
<p style="margin:0 0 12px">${escapeHtml(footer)}</p>
${brand ? `<p style="margin:0">${footOf(brand, link)}</p>` : ''}
</div>`)}
</div></body></html>`
}

function footOf(brand: Brand, link: (href: string, text: string) => string): string {
  const { name, supportEmail, supportPhone, supportHours, legalLinks } = brand
  const reached = [
    escapeHtml(name),
    ...(supportEmail ? [link(mailtoUrl(supportEmail), supportEmail)] : []),
    ...(supportPhone ? [link(`tel:${supportPhone.replaceAll(/[^\d+]/g, '')}`, supportPhone)] : []),
    ...(supportHours ? [escapeHtml(supportHours)] : []),
  ]
  const legal = legalLinks.map(({ label, url }) => link(url, label))
  return [reached.join(' · '), ...(legal.length > 0 ? [legal.join(' · ')] : [])].join('<br>')
}

import { createHash } from 'node:crypto'
import { type Brand, mailtoUrl } from '#brands/brand.ts'
import type { TextName, Values } from '#esims/languages/texts.ts'
import { fill, type Language } from '#esims/languages/traveller-language.ts'
import { escapeHtml } from '#platform/escape-html.ts'
import { icon, symbolsFor } from './icons.ts'
import { PAGE_SCRIPT } from './page-script.ts'
import type { Phone } from './phone.ts'
import { brandSheet, SHEETS } from './style.ts'

/** For whom a page is written, and by whom. */
export interface Reader {
  language: Language
  /** What the reader can change to. */
  languages: readonly Language[]
  brand: Brand
  /** The name of the dealer who sold the eSIM, or of its brand; the operator's on pages of unknown links. */
  seller: string
  phone: Phone
}

/**
 * A text of the reader's language, as HTML. Values stand in `<bdi>`: a Latin name in an Arabic sentence would otherwise move the
 * punctuation beside it.
 */
export function html<Name extends TextName>(
  { language }: Pick<Reader, 'language'>,
  name: Name,
  values: Values<Name>,
): string {
  const isolated = Object.entries<string>(values).map(([key, value]) => [key, `<bdi>${escapeHtml(value)}</bdi>`])
  return fill(escapeHtml(language.texts[name]), Object.fromEntries(isolated))
}

/** A text without placeholders, as HTML. */
export function plain({ language }: Pick<Reader, 'language'>, name: TextName): string {
  return escapeHtml(language.texts[name])
}

export interface PageParts {
  /** As text. */
  title: string
  /** The content of `<main>`, one or two columns. */
  main: string
  columns: 1 | 2
  sheet: keyof typeof SHEETS
  /** Small print at the end of the page, as HTML. */
  footer?: string
  /** Kept in the links that change the language: `?devices&lang=de`. */
  query?: string
  /** Opens the print dialog. */
  isPrinted?: boolean
}

/** A whole page: header with the seller and the languages, content, help. It works without its script. */
export function renderPage(
  reader: Reader,
  { title, main, columns, sheet, footer = '', query = '', isPrinted = false }: PageParts,
): string {
  const { language, seller, brand } = reader
  const body = `<div class="wrap">
<header class="top">${header(reader, query)}</header>
<main class="${columns === 1 ? 'one' : 'two'}">${main}</main>
<footer>${help(reader)}<p class="legal">${legalLinks(brand)}${footer}</p></footer>
</div>`
  return `<!doctype html>
<html lang="${language.tag}" dir="${language.direction}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<meta name="robots" content="noindex, nofollow">
<meta name="format-detection" content="telephone=no">
<title>${escapeHtml(title)} – ${escapeHtml(seller)}</title>
${brand.icon === undefined ? '<link rel="icon" href="../docs/icon.svg" type="image/svg+xml">' : `<link rel="icon" href="${escapeHtml(brand.icon)}" type="image/png">`}
<style>${brandSheet(brand.colours)}</style>
<style>${SHEETS[sheet]}</style>
</head>
<body data-copy="${plain(reader, 'copy')}" data-copied="${plain(reader, 'copied')}"${isPrinted ? ' data-print' : ''}>
${symbolsFor(body)}
${body}
<script>${PAGE_SCRIPT}</script>
</body>
</html>
`
}

/** No forms or frames; pictures only from here; only this page's styles and its one script. */
export function policyOf({ colours }: Pick<Brand, 'colours'>): string {
  return [
    "default-src 'none'",
    "img-src 'self'",
    `style-src ${SHEET_HASHES.join(' ')} ${hashOf(brandSheet(colours))}`,
    `script-src ${SCRIPT_HASH}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
  ].join('; ')
}

function hashOf(text: string): string {
  return `'sha256-${createHash('sha256').update(text).digest('base64')}'`
}
const SHEET_HASHES = Object.values(SHEETS).map(hashOf)
const SCRIPT_HASH = hashOf(PAGE_SCRIPT)

function header(reader: Reader, query: string): string {
  const { brand, seller, language, languages } = reader
  const links = languages.map(({ tag, ownName }) => {
    const current = tag === language.tag ? ' aria-current="true"' : ''
    return `<li><a href="?${query}lang=${tag}" lang="${tag}"${current}>${escapeHtml(ownName)}</a></li>`
  })
  const label = plain(reader, 'language')
  return `${logo(brand, seller)}<p class="brand"><bdi>${escapeHtml(seller)}</bdi></p>
<details class="lang"><summary aria-label="${label}: ${escapeHtml(language.ownName)}">${icon('globe')}<span>${escapeHtml(language.ownName)}</span></summary><ul aria-label="${label}">${links.join('')}</ul></details>`
}

/** The brand's logo; without one, the first letter of the seller's name. */
function logo({ logoLight, logoDark }: Brand, seller: string): string {
  const shown = logoLight ?? logoDark
  if (shown === undefined) return `<span class="letter" aria-hidden="true">${escapeHtml(firstLetter(seller))}</span>`
  const dark = logoDark && `<source srcset="${escapeHtml(logoDark)}" media="(prefers-color-scheme: dark)">`
  return `<picture>${dark ?? ''}<img class="logo" src="${escapeHtml(shown)}" alt=""></picture>`
}

function firstLetter(name: string): string {
  const [first] = new Intl.Segmenter().segment(name.trim())
  return first?.segment.toLocaleUpperCase() ?? ''
}

function help(reader: Reader): string {
  const { name, supportEmail, supportPhone, supportHours } = reader.brand
  const entries = [
    supportEmail && link('mail', mailtoUrl(supportEmail), supportEmail),
    supportPhone && link('call', `tel:${supportPhone.replaceAll(/[^\d+]/g, '')}`, supportPhone),
    supportHours && `<li>${icon('clock')}<bdi>${escapeHtml(supportHours)}</bdi></li>`,
  ].filter(Boolean)
  if (entries.length === 0) return ''
  return `<h2>${html(reader, 'help', { seller: name })}</h2><ul class="who">${entries.join('')}</ul>`
}

function link(name: 'mail' | 'call', url: string, text: string): string {
  const direction = name === 'call' ? ' dir="ltr"' : ''
  return `<li><a href="${escapeHtml(url)}">${icon(name)}<bdi${direction}>${escapeHtml(text)}</bdi></a></li>`
}

function legalLinks({ legalLinks }: Brand): string {
  return legalLinks
    .map(({ label, url }) => `<a href="${escapeHtml(url)}" rel="noreferrer"><bdi>${escapeHtml(label)}</bdi></a>`)
    .join('')
}

import { escapeHtml } from '#platform/escape-html.ts'
import { addressIn, type DocsFiles, type DocsPage, ENGLISH, markdownAddress } from './docs-files.ts'
import { type Rendered, relativeTo } from './docs-markdown.ts'
import { NAVIGATION, neighboursOf, type Part, partOf } from './docs-navigation.ts'
import type { DocsBrand, Site, Sites } from './docs-site.ts'

/** What surrounds every page: whose the documentation is, and which pages there are. */
export interface Frame {
  files: DocsFiles
  sites: Sites
  /** undefined: the operator has not named itself. */
  brand: DocsBrand | undefined
  /** Changes with the style sheet and the script, which are cached for ever. */
  version: string
}

/** The name of the documentation before the operator has one. */
export const UNBRANDED = 'Dealer eSIM'

interface Content {
  address: string
  language: string
  /** The English address; absent on pages without a text, such as results of a search. */
  page?: DocsPage
  part: Part
  title: string
  main: string
  sections?: Rendered['sections']
  /** What was searched for. */
  query?: string
}

/** The complete page around a rendered document. It works without its script, and loads nothing from other hosts. */
export function documentPage(
  address: string,
  page: DocsPage,
  { title, html, sections }: Rendered,
  frame: Frame,
): string {
  const site = frame.sites.get(page.language)!
  const note =
    page.language === page.textLanguage ? '' : `<p class="note">${escapeHtml(site.texts.notTranslated!)}</p>\n`
  const lang = page.language === page.textLanguage ? '' : ` lang="${page.textLanguage}"`
  const main = `${note}<article${lang}>\n${html}</article>\n${turns(address, page, frame)}`
  const { language } = page
  return framed({ address, language, page, part: partOf(page.name), title, main, sections }, frame)
}

/** A page without a document. */
export function framed(content: Content, frame: Frame): string {
  const { address, language, title, main, query = '' } = content
  const { brand, sites, version } = frame
  const site = sites.get(language)!
  const text = (name: string) => escapeHtml(site.texts[name]!)
  const link = (to: string) => escapeHtml(relativeTo(address, to))
  const name = escapeHtml(brand?.name ?? UNBRANDED)
  const icon = brand?.icon ? { href: link(`../${brand.icon}`), type: 'image/png' } : iconOf(link('icon.svg'))
  const markdown = content.page && link(markdownAddress(content.page))
  return `<!doctype html>
<html lang="${language}">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>${escapeHtml(title)} · ${name}</title>
<link rel="icon" href="${icon.href}" type="${icon.type}">
<link rel="stylesheet" href="${link('docs.css')}?v=${version}">
${markdown ? `<link rel="alternate" type="text/markdown" href="${markdown}">\n` : ''}<script src="${link('docs.js')}?v=${version}" defer></script>
</head>
<body data-copy="${text('copy')}" data-copied="${text('copied')}">
<a class="skip" href="#content">${text('skip')}</a>
<header>
<a class="home" href="${link(addressIn(language, ''))}">${logo(brand, link)}<span>${name}</span></a>
<form role="search" action="${link(addressIn(language, 'search'))}">
<input type="search" name="q" value="${escapeHtml(query)}" maxlength="200" placeholder="${text('search')}" aria-label="${text('search')}" aria-keyshortcuts="/" autocomplete="off" spellcheck="false"><kbd aria-hidden="true">/</kbd>
</form>
${languageSwitch(content, frame, link)}
<a class="narrow" href="#contents">${text('contents')}</a>
${partTabs(content, frame, site, link, 'parts narrow')}
</header>
<div class="columns">
<nav id="contents" aria-label="${text('documentation')}">
${navigation(content, frame, site, link)}
</nav>
<main id="content">
${main}${markdown ? `<p class="source"><a href="${markdown}">${text('asMarkdown')}</a></p>\n` : ''}</main>
${onThisPage(content, site)}
</div>
</body>
</html>
`
}

const iconOf = (href: string) => ({ href, type: 'image/svg+xml' })

function logo(brand: DocsBrand | undefined, link: (to: string) => string): string {
  const light = brand?.logoLight ?? brand?.logoDark
  if (brand === undefined || light === undefined) return ''
  const dark =
    brand.logoDark && `<source srcset="${link(`../${brand.logoDark}`)}" media="(prefers-color-scheme: dark)">`
  return `<picture>${dark ?? ''}<img class="logo" src="${link(`../${light}`)}" alt=""></picture>`
}

/** Through an address that remembers the choice. */
function languageSwitch(content: Content, { sites }: Frame, link: (to: string) => string): string {
  const others = [...sites.values()].filter(({ tag }) => tag !== content.language)
  return others
    .map(({ tag, ownName }) => {
      const target = new URLSearchParams({ to: tag, page: content.page?.name ?? '' })
      const href = `${link('language')}?${escapeHtml(target.toString())}`
      return `<a class="language" href="${href}" lang="${tag}" hreflang="${tag}">${escapeHtml(ownName)}</a>`
    })
    .join('\n')
}

function navigation(content: Content, frame: Frame, site: Site, link: (to: string) => string): string {
  const { files } = frame
  const inLanguage = (name: string) => (name === 'reference' ? name : addressIn(site.tag, name))
  const groups = NAVIGATION[content.part].map(({ group, pages }) => {
    const items = pages
      .filter((name) => name === 'reference' || files.pages.has(name))
      .map((name) => {
        const here = name === content.page?.name ? ' aria-current="page"' : ''
        return `<li><a href="${link(inLanguage(name))}"${here}>${escapeHtml(site.pages[name]!.name)}</a></li>`
      })
    return items.length === 0 ? '' : `<h2>${escapeHtml(site.groups[group]!)}</h2>\n<ul>${items.join('')}</ul>`
  })
  return [partTabs(content, frame, site, link, 'parts'), ...groups].filter(Boolean).join('\n')
}

/** The switch between the dealers' and the operator's part: above the contents, and on a phone in the header. */
function partTabs(content: Content, { files }: Frame, site: Site, link: (to: string) => string, style: string): string {
  const parts = (Object.keys(NAVIGATION) as Part[]).filter((part) => files.pages.has(FIRST_PAGE[part]))
  if (parts.length < 2) return ''
  const tabs = parts.map((part) => {
    const current = part === content.part ? ' aria-current="true"' : ''
    return `<a href="${link(addressIn(site.tag, FIRST_PAGE[part]))}"${current}>${escapeHtml(site.texts[part]!)}</a>`
  })
  return `<p class="${style}">${tabs.join('')}</p>`
}

const FIRST_PAGE: Readonly<Record<Part, string>> = { dealers: '', operators: 'operators' }

/** Below this, a page is seen as a whole. */
const HEADINGS_MIN = 2

function onThisPage({ sections = [] }: Content, { texts }: Site): string {
  const headings = sections.filter(({ level }) => level === 2 || level === 3)
  if (headings.length < HEADINGS_MIN) return ''
  // A page of codes has more headings than a reader would scan: only those of the second level, which are its codes.
  const items = headings.map(
    ({ id, heading, level }) => `<li class="h${level}"><a href="#${escapeHtml(id)}">${escapeHtml(heading)}</a></li>`,
  )
  const label = escapeHtml(texts.onThisPage!)
  return `<aside aria-label="${label}"><h2>${label}</h2>\n<ul>${items.join('')}</ul></aside>`
}

/** Links to the pages before and after, in reading order. */
function turns(address: string, page: DocsPage, { files, sites }: Frame): string {
  const site = sites.get(page.language)!
  const { previous, next } = neighboursOf(page.name)
  const turn = (name: string | undefined, rel: 'prev' | 'next', label: string) => {
    if (name === undefined || (name !== 'reference' && !files.pages.has(name))) return ''
    const to = name === 'reference' ? name : addressIn(page.language, name)
    return `<a rel="${rel}" href="${escapeHtml(relativeTo(address, to))}"><small>${escapeHtml(label)}</small>${escapeHtml(site.pages[name]!.name)}</a>`
  }
  const links = turn(previous, 'prev', site.texts.previous!) + turn(next, 'next', site.texts.next!)
  return links === '' ? '' : `<p class="turns">${links}</p>\n`
}

/** The page for an address that does not exist. */
export function notFoundPage(address: string, language: string, frame: Frame): string {
  const { texts } = frame.sites.get(language) ?? frame.sites.get(ENGLISH)!
  const main = `<h1>${escapeHtml(texts.notFound!)}</h1>\n<p>${escapeHtml(texts.notFoundHelp!)}</p>\n`
  return framed({ address, language, part: 'dealers', title: texts.notFound!, main }, frame)
}

import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import { escapeHtml } from '#platform/escape-html.ts'
import { type DocsFiles, type DocsPage, readPage } from './docs-files.ts'
import { codeBlocks } from './docs-samples.ts'

export interface Rendered {
  title: string
  html: string
  sections: Section[]
}

/** What stands under a heading, up to the next one. */
export interface Section {
  /** The fragment; the same in every language. */
  id: string
  heading: string
  level: number
  text: string
}

/**
 * Renders a page as HTML. Links in the files point to files (`signing.md`, `../CHANGELOG.md`); here they become relative
 * URLs of the served pages, so that a proxy's path prefix does not matter. A link or picture whose file is not served is
 * replaced by its text. Raw HTML is shown as text.
 */
export function renderPage(address: string, page: DocsPage, files: DocsFiles): Rendered {
  const engine = new MarkdownIt({ html: false, linkify: false, typographer: false })
  const tokens = engine.parse(readPage(page, files.audience), {})
  const english = page.textLanguage === 'en' ? tokens : engine.parse(readPage(page.english, files.audience), {})
  nameHeadings(tokens, headingIds(english))
  for (const token of tokens)
    if (token.children) token.children = withServedLinks(token.children, { address, page }, files)
  engine.renderer.rules.table_open = () => '<div class="wide"><table>\n'
  engine.renderer.rules.table_close = () => '</table></div>\n'
  engine.renderer.rules.code_inline = (all, at) => `<code>${unbroken(all[at]!.content)}</code>`
  codeBlocks(engine, tokens)
  const sections = sectionsOf(tokens)
  const title = sections[0]?.level === 1 ? sections[0].heading : address
  return { title, html: engine.renderer.render(tokens, engine.options, {}), sections }
}

/** Longer words of inline code would not fit a phone's line. */
const UNBROKEN_LENGTH_MAX = 30

/** Inline code whose words are not broken at their signs: `--json` stays on one line. */
function unbroken(code: string): string {
  return code.replace(/\S+|\s+/g, (word) =>
    /[^\w\s]/.test(word) && word.length <= UNBROKEN_LENGTH_MAX ? `<span>${escapeHtml(word)}</span>` : escapeHtml(word),
  )
}

/** The address under /docs that a link points to, in the language of its page; undefined if its target is not served. */
export function servedAddress(href: string, page: DocsPage, files: DocsFiles): string | undefined {
  const [path = '', hash] = href.split('#')
  const from = page.english.path
  const target = path === '' ? from : posix.join(posix.dirname(from), decodeURI(path))
  // A folder is represented by its README or index.
  const found = [target, `${target.replace(/\/$/, '')}/README.md`, `${target.replace(/\/$/, '')}/index.md`]
    .map((each) => files.addressOf(each, page.language))
    .find((each) => each !== undefined)
  if (found === undefined) return undefined
  return hash === undefined ? found : `${found}#${hash}`
}

/** A relative reference from one address under /docs to another. */
export function relativeTo(fromAddress: string, address: string): string {
  const [path = '', hash] = address.split('#')
  const from = fromAddress.split('/').slice(0, -1)
  const to = path.split('/')
  while (from.length > 0 && to.length > 1 && from[0] === to[0]) {
    from.shift()
    to.shift()
  }
  const reference = [...from.map(() => '..'), ...to].join('/')
  return `${reference === '' ? './' : reference}${hash === undefined ? '' : `#${hash}`}`
}

/** The heading's fragment, as common Markdown viewers build it. */
export function headingId(text: string): string {
  return text
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .trim()
    .replace(/\s/g, '-')
}

function headingIds(tokens: Token[]): string[] {
  const used = new Map<string, number>()
  return tokens.flatMap((token, at) => {
    if (token.type !== 'heading_open') return []
    const id = headingId(plainText(tokens[at + 1]))
    const before = used.get(id) ?? 0
    used.set(id, before + 1)
    return [before === 0 ? id : `${id}-${before}`]
  })
}

/** @param ids those of the English page, whose headings a translation has in the same order */
function nameHeadings(tokens: Token[], ids: readonly string[]): void {
  const headings = tokens.filter(({ type }) => type === 'heading_open')
  for (const [at, token] of headings.entries()) token.attrSet('id', ids[at] ?? `section-${at}`)
}

function sectionsOf(tokens: Token[]): Section[] {
  const sections: Section[] = []
  tokens.forEach((token, at) => {
    if (token.type === 'heading_open') {
      const heading = plainText(tokens[at + 1])
      sections.push({ id: String(token.attrGet('id')), heading, level: Number(token.tag.slice(1)), text: '' })
    } else if (tokens[at - 1]?.type !== 'heading_open') {
      const section = sections.at(-1)
      const text = token.type === 'inline' ? plainText(token) : token.type === 'fence' ? token.content : ''
      if (section && text !== '') section.text += `${text}\n`
    }
  })
  return sections
}

function plainText(inline: Token | undefined): string {
  const children = inline?.children ?? []
  return children
    .map(({ type, content }) => (type === 'text' || type === 'code_inline' ? content : type === 'softbreak' ? ' ' : ''))
    .join('')
}

function withServedLinks(children: Token[], at: { address: string; page: DocsPage }, files: DocsFiles): Token[] {
  const kept: Token[] = []
  // Links do not nest, so one flag is enough.
  let dropped = false
  for (const child of children) {
    if (child.type === 'link_open') {
      const href = String(child.attrGet('href') ?? '')
      if (/^[a-z][a-z0-9+.-]*:/i.test(href)) {
        child.attrSet('rel', 'noreferrer')
      } else {
        const address = servedAddress(href, at.page, files)
        dropped = address === undefined
        if (address !== undefined) child.attrSet('href', relativeTo(at.address, address))
      }
      if (dropped) continue
    }
    if (child.type === 'link_close' && dropped) {
      dropped = false
      continue
    }
    kept.push(...(child.type === 'image' ? withServedSource(child, at, files) : [child]))
  }
  return kept
}

/** The picture, or its alternative text if it is not served: pages load nothing from other hosts. */
function withServedSource(image: Token, at: { address: string; page: DocsPage }, files: DocsFiles): Token[] {
  const address = servedAddress(String(image.attrGet('src')), at.page, files)
  if (address === undefined) return image.children ?? []
  image.attrSet('src', relativeTo(at.address, address))
  return [image]
}

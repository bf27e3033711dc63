import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import type { DocsFiles } from './docs-files.ts'

export interface Rendered {
  title: string
  html: string
}

/**
 * Renders Markdown as HTML. Links in the files point to files (`signing.md`, `../CHANGELOG.md`); here they become relative
 * URLs of the served pages, so that a proxy's path prefix does not matter. A link or picture whose file is not served is
 * replaced by its text. Raw HTML is shown as text.
 */
export function renderMarkdown(markdown: string, page: { path: string; address: string }, files: DocsFiles): Rendered {
  const engine = new MarkdownIt({ html: false, linkify: false, typographer: false })
  const tokens = engine.parse(markdown, {})
  nameHeadings(tokens)
  for (const token of tokens) if (token.children) token.children = withServedLinks(token.children, page, files)
  engine.renderer.rules.table_open = () => '<div class="wide"><table>\n'
  engine.renderer.rules.table_close = () => '</table></div>\n'
  return { title: titleOf(tokens) ?? page.address, html: engine.renderer.render(tokens, engine.options, {}) }
}

/** The address under /docs that a link points to; undefined if its target is not served. */
export function servedAddress(href: string, fromPath: string, files: DocsFiles): string | undefined {
  const [path = '', hash] = href.split('#')
  const target = path === '' ? fromPath : posix.join(posix.dirname(fromPath), decodeURI(path))
  // A folder is represented by its README or index.
  const found = [target, `${target.replace(/\/$/, '')}/README.md`, `${target.replace(/\/$/, '')}/index.md`]
    .map((each) => files.addressOf(each))
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

function nameHeadings(tokens: Token[]): void {
  const used = new Map<string, number>()
  tokens.forEach((token, at) => {
    if (token.type !== 'heading_open') return
    const id = headingId(plainText(tokens[at + 1]))
    const before = used.get(id) ?? 0
    used.set(id, before + 1)
    token.attrSet('id', before === 0 ? id : `${id}-${before}`)
  })
}

function titleOf(tokens: Token[]): string | undefined {
  const at = tokens.findIndex((token) => token.type === 'heading_open' && token.tag === 'h1')
  return at === -1 ? undefined : plainText(tokens[at + 1])
}

function plainText(inline: Token | undefined): string {
  const children = inline?.children ?? []
  return children.map((child) => (child.type === 'text' || child.type === 'code_inline' ? child.content : '')).join('')
}

function withServedLinks(children: Token[], page: { path: string; address: string }, files: DocsFiles): Token[] {
  const kept: Token[] = []
  // Links do not nest, so one flag is enough.
  let dropped = false
  for (const child of children) {
    if (child.type === 'link_open') {
      const href = String(child.attrGet('href') ?? '')
      if (/^[a-z][a-z0-9+.-]*:/i.test(href)) {
        child.attrSet('rel', 'noreferrer')
      } else {
        const address = servedAddress(href, page.path, files)
        dropped = address === undefined
        if (address !== undefined) child.attrSet('href', relativeTo(page.address, address))
      }
      if (dropped) continue
    }
    if (child.type === 'link_close' && dropped) {
      dropped = false
      continue
    }
    kept.push(...(child.type === 'image' ? withServedSource(child, page, files) : [child]))
  }
  return kept
}

/** The picture, or its alternative text if it is not served: pages load nothing from other hosts. */
function withServedSource(image: Token, page: { path: string; address: string }, files: DocsFiles): Token[] {
  const address = servedAddress(String(image.attrGet('src')), page.path, files)
  if (address === undefined) return image.children ?? []
  image.attrSet('src', relativeTo(page.address, address))
  return [image]
}

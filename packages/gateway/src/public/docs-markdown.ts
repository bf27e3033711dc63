import { posix } from 'node:path'
import MarkdownIt, { type Token } from 'markdown-it'
import type { Shelf } from './docs-shelf.ts'

export interface Rendered {
  title: string
  html: string
}

/**
 * Markdown as HTML. Links are written for readers of the files (`signing.md`, `../CHANGELOG.md`); here they become
 * relative addresses of what is served, so that a path prefix of a proxy does not matter. A link to a file that is not
 * served keeps its text only, and so does a picture. Raw HTML is shown as text.
 */
export function renderMarkdown(markdown: string, page: { path: string; address: string }, shelf: Shelf): Rendered {
  const engine = new MarkdownIt({ html: false, linkify: false, typographer: false })
  const tokens = engine.parse(markdown, {})
  nameHeadings(tokens)
  for (const token of tokens) if (token.children) token.children = withServedLinks(token.children, page, shelf)
  engine.renderer.rules.tableOpen = () => '<div class="wide"><table>\n'
  engine.renderer.rules.tableClose = () => '</table></div>\n'
  return { title: titleOf(tokens) ?? page.address, html: engine.renderer.render(tokens, engine.options, {}) }
}

/** Where a link leads: an address under /docs, or undefined when its target is not served. */
export function servedAddress(href: string, fromPath: string, shelf: Shelf): string | undefined {
  const [path = '', hash] = href.split('#')
  const target = path === '' ? fromPath : posix.join(posix.dirname(fromPath), decodeURI(path))
  // A folder stands for the page that introduces it.
  const found = [target, `${target.replace(/\/$/, '')}/README.md`, `${target.replace(/\/$/, '')}/index.md`]
    .map((each) => shelf.addressOf(each))
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

/** The fragment that a heading is reached by, as usual viewers of Markdown make it. */
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

function withServedLinks(children: Token[], page: { path: string; address: string }, shelf: Shelf): Token[] {
  const kept: Token[] = []
  // Links do not nest, so one flag is enough.
  let dropped = false
  for (const child of children) {
    if (child.type === 'link_open') {
      const href = String(child.attrGet('href') ?? '')
      if (/^[a-z][a-z0-9+.-]*:/i.test(href)) {
        child.attrSet('rel', 'noreferrer')
      } else {
        const address = servedAddress(href, page.path, shelf)
        dropped = address === undefined
        if (address !== undefined) child.attrSet('href', relativeTo(page.address, address))
      }
      if (dropped) continue
    }
    if (child.type === 'link_close' && dropped) {
      dropped = false
      continue
    }
    kept.push(...(child.type === 'image' ? withServedSource(child, page, shelf) : [child]))
  }
  return kept
}

/** @returns what the picture says, where it is not served: pages load nothing from elsewhere */
function withServedSource(image: Token, page: { path: string; address: string }, shelf: Shelf): Token[] {
  const address = servedAddress(String(image.attrGet('src')), page.path, shelf)
  if (address === undefined) return image.children ?? []
  image.attrSet('src', relativeTo(page.address, address))
  return [image]
}

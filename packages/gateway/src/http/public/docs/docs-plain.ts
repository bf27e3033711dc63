import { addressIn, type DocsFiles, type DocsPage, ENGLISH, markdownAddress, readPage } from './docs-files.ts'
import { relativeTo, servedAddress } from './docs-markdown.ts'
import { NAVIGATION, type Part } from './docs-navigation.ts'
import { type Frame, UNBRANDED } from './docs-page.ts'

/**
 * A page as Markdown, for programs. Its links lead to other pages as Markdown: `signing.md`, `samples/README.md`. What is not
 * served is text.
 */
export function markdownPage(page: DocsPage, files: DocsFiles): string {
  const address = markdownAddress(page)
  let isCode = false
  // Links may span lines. What looks like one in a code block stays.
  const parts: { isCode: boolean; lines: string[] }[] = []
  for (const line of readPage(page, files.audience).split('\n')) {
    const isFence = /^ *```/.test(line)
    if (parts.length === 0 || (isFence && !isCode)) parts.push({ isCode: isFence, lines: [] })
    parts.at(-1)!.lines.push(line)
    if (!isFence) continue
    isCode = !isCode
    if (!isCode) parts.push({ isCode: false, lines: [] })
  }
  return parts
    .map(({ isCode: isBlock, lines }) => {
      const part = lines.join('\n')
      return isBlock ? part : part.replace(LINK, (link, mark, text, href) => relinked(link, { mark, text, href }))
    })
    .join('\n')

  function relinked(link: string, { mark, text, href }: Record<'mark' | 'text' | 'href', string>): string {
    if (/^[a-z][a-z0-9+.-]*:/i.test(href)) return link
    const served = servedAddress(href, page, files)
    if (served === undefined) return text
    const [to = '', hash] = served.split('#')
    const target = files.pages.get(to)
    const reference = relativeTo(address, target ? markdownAddress(target) : to)
    return `${mark}[${text}](${reference}${hash === undefined ? '' : `#${hash}`})`
  }
}

/** A link or a picture whose text has at most one pair of brackets within. */
const LINK = /(!?)\[((?:[^[\]]|\[[^[\]]*\])*)\]\(([^()\s]+)\)/g

/** The contents for programs, as https://llmstxt.org describes: every page as Markdown, with what it answers. */
export function llmsText({ files, sites, brand }: Frame): string {
  const site = sites.get(ENGLISH)!
  const parts = (Object.keys(NAVIGATION) as Part[]).map((part) => {
    const pages = NAVIGATION[part].flatMap((group) => group.pages).filter((page) => files.pages.has(page))
    const items = pages.map((page) => {
      const { name: title, about } = site.pages[page]!
      return `- [${title}](${markdownAddress(files.pages.get(page)!)}): ${about}`
    })
    return items.length === 0 ? '' : `## ${site.texts[part]}\n\n${items.join('\n')}\n`
  })
  const others = [...sites.values()]
    .filter(({ tag }) => tag !== ENGLISH)
    .map(({ tag, ownName }) => `- [${ownName}](${addressIn(tag, 'index.md')})`)
  return `# ${brand?.name ?? UNBRANDED}

> An API through which dealers buy eSIMs from a prepaid balance: signed requests, and events for what happens later.

The interface as OpenAPI 3.1: [openapi.json](openapi.json).

${parts.filter(Boolean).join('\n')}
## Other languages

${others.join('\n')}
`
}

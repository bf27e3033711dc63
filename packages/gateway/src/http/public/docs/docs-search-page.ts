import { escapeHtml } from '#platform/escape-html.ts'
import { addressIn } from './docs-files.ts'
import { relativeTo } from './docs-markdown.ts'
import { type Frame, framed } from './docs-page.ts'
import type { Found } from './docs-search.ts'

/** The results of a search. The script of other pages takes the list out of this one. */
export function searchPage(language: string, query: string, found: readonly Found[], frame: Frame): string {
  const address = addressIn(language, 'search')
  const { texts } = frame.sites.get(language)!
  const title = query === '' ? texts.search! : texts.results!.replace('{query}', () => query)
  const results = found.map((page) => result(address, language, page))
  const none = query === '' ? '' : `<p class="none">${escapeHtml(texts.noResults!)}</p>\n`
  const list = results.length === 0 ? none : `<ol class="results">\n${results.join('\n')}\n</ol>\n`
  const main = `<h1>${escapeHtml(title)}</h1>\n${list}`
  return framed({ address, language, part: 'dealers', title, main, query }, frame)
}

function result(address: string, language: string, { name, title, about, sections }: Found): string {
  const to = (fragment: string) =>
    escapeHtml(relativeTo(address, `${addressIn(language, name)}${fragment === '' ? '' : `#${fragment}`}`))
  const links = sections.map(({ id, heading }) => `<li><a href="${to(id)}">${escapeHtml(heading)}</a></li>`)
  return `<li><a href="${to('')}">${escapeHtml(title)}</a><p>${escapeHtml(about)}</p><ul>${links.join('')}</ul></li>`
}

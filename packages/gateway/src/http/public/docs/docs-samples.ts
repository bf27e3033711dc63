import type { MarkdownIt, Token } from 'markdown-it'
import { escapeHtml } from '#platform/escape-html.ts'

/** What a reader calls the language of a sample. Other blocks have no name and are never a tab. */
const LANGUAGES: Readonly<Record<string, string>> = {
  bash: 'Bash',
  curl: 'curl',
  go: 'Go',
  java: 'Java',
  php: 'PHP',
  python: 'Python',
  sh: 'Shell',
  ts: 'TypeScript',
  csharp: 'C#',
}

/**
 * Code blocks that follow each other without text between them are one sample in several languages: each carries the name of
 * its language, and the page's script makes tabs of them. Without it all of them are visible.
 */
export function codeBlocks({ renderer }: Pick<MarkdownIt, 'renderer'>, tokens: Token[]): void {
  const isTab = (at: number) => tokens[at]?.type === 'fence' && languageOf(tokens[at]!) !== undefined
  const differs = (at: number, other: number) => languageOf(tokens[at]!) !== languageOf(tokens[other]!)
  const joins = (at: number, other: number) => isTab(at) && isTab(other) && differs(at, other)
  renderer.rules.fence = (_tokens: Token[], index: number) => {
    const block = `<pre><code>${escapeHtml(tokens[index]!.content)}</code></pre>\n`
    const [before, after] = [joins(index, index - 1), joins(index, index + 1)]
    if (!before && !after) return block
    const name = languageOf(tokens[index]!)!
    const figure = `<figure data-language="${name}"><figcaption>${name}</figcaption>${block}</figure>\n`
    return `${before ? '' : '<div class="tabs">\n'}${figure}${after ? '' : '</div>\n'}`
  }
}

function languageOf({ info }: Token): string | undefined {
  return LANGUAGES[info.trim()]
}

import type { Page } from 'playwright-core'

/*
 * A pseudo-language, in which every text of the English file is in brackets. Text outside brackets does not come from the
 * file.
 */

/** A text with values is a packed message (packages/console/src/strings/packed-message.ts). */
type Texts = { [name: string]: string | unknown[] | Texts }

/** Serves the bracketed file to the page instead of the English one. */
export async function usePseudoLanguage(page: Page): Promise<void> {
  await page.route('**/assets/en-*.js', async (route) => {
    const script = await (await route.fetch()).text()
    const file = (await import(`data:text/javascript,${encodeURIComponent(script)}`)) as Record<string, Texts>
    const lines = Object.entries(file).map(
      ([name, texts]) => `export const ${name} = ${JSON.stringify(bracketed(texts))}`,
    )
    await route.fulfill({ contentType: 'text/javascript', body: lines.join('\n') })
  })
}

function bracketed(texts: Texts): Texts {
  return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, inBrackets(text)]))
}

function inBrackets(text: Texts[string]): Texts[string] {
  if (typeof text === 'string') return `⟦${text}⟧`
  if (!Array.isArray(text)) return bracketed(text)
  return ['⟦', ...text, '⟧']
}

/**
 * Finds every text on the page, visible or for screen readers, that is not from the file. Table cells are data, and what the
 * gateway sends, such as the labels of suppliers' settings, is in English.
 */
export async function untranslatedTexts(page: Page): Promise<string[]> {
  const texts = (await page.evaluate(ALL_TEXTS)) as string[]
  return texts.map(withoutBrackets).filter((text) => /\p{L}{2}/u.test(text.replaceAll(DATA, '')))
}

// Demo data: money, durations, dates as the browser formats them, people, dealers, and the sandbox's messages.
const DATA =
  /\b(USD|EUR)\b|\d\s(ms|sec|min|hr)\b|\b(Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec) \d+|\b\d+:\d\d\s[AP]M\b|\S+@\S+|Demo dealer|Northern Lights Travel|refused by the sandbox, as the product code requests|sandbox\w*/g

/** Removes the innermost brackets first, because texts can be nested. A highlighted number splits its text in two. */
function withoutBrackets(text: string): string {
  const less = text.replaceAll(/⟦[^⟦⟧]*⟧/g, '')
  return less === text
    ? text
        .replace(/^[^⟦]*⟧/, '')
        .replace(/⟦[^⟧]*$/, '')
        .trim()
    : withoutBrackets(less)
}

const ALL_TEXTS = `(() => {
  const isData = (element) => element.closest('td, dd, pre, code, time, option, textarea, script, style, [data-from-gateway]')
  const texts = []
  const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT | NodeFilter.SHOW_ELEMENT)
  for (let node = walker.currentNode; node; node = walker.nextNode()) {
    if (node.nodeType === Node.TEXT_NODE) {
      if (!isData(node.parentElement)) texts.push(node.textContent)
    } else if (!isData(node)) for (const name of ['aria-label', 'placeholder', 'title', 'alt']) texts.push(node.getAttribute(name) ?? '')
  }
  return texts
})()`

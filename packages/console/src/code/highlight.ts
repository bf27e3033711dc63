export type CodeLanguage = 'json' | 'headers' | 'shell' | 'python' | 'php' | 'java' | 'go' | 'csharp' | 'typescript'

/** JSON with line breaks; any other text unchanged. */
export function prettyJson(text: string): string {
  try {
    return JSON.stringify(JSON.parse(text), null, 2)
  } catch {
    return text
  }
}

interface Token {
  /** undefined: plain text. */
  kind?: 'comment' | 'string' | 'name' | 'number' | 'word'
  text: string
}

/** Longer texts are not coloured: each token is an element. */
const COLOURED_LENGTH_MAX = 30_000

/** Splits code into tokens. It recognises comments, strings, numbers and a few words, which is enough for colours. */
export function highlight(text: string, language: CodeLanguage): Token[] {
  if (text.length > COLOURED_LENGTH_MAX) return [{ text }]
  if (language === 'headers') return headerTokens(text)
  const tokens: Token[] = []
  let end = 0
  for (const match of text.matchAll(patternOf(language))) {
    const { comment, string, number, word } = match.groups ?? {}
    if (word !== undefined && (language === 'shell' || !WORDS.has(word))) continue
    if (match.index > end) tokens.push({ text: text.slice(end, match.index) })
    end = match.index + match[0].length
    if (comment !== undefined) tokens.push({ kind: 'comment', text: comment })
    else if (number !== undefined) tokens.push({ kind: 'number', text: number })
    else if (word !== undefined) tokens.push({ kind: 'word', text: word })
    else if (string !== undefined) tokens.push({ kind: isName(text, end, language) ? 'name' : 'string', text: string })
  }
  return end < text.length ? [...tokens, { text: text.slice(end) }] : tokens
}

function isName(text: string, end: number, language: CodeLanguage): boolean {
  return language === 'json' && /^\s*:/.test(text.slice(end, end + 3))
}

function headerTokens(text: string): Token[] {
  return text.split(/(?<=\n)/).flatMap((line): Token[] => {
    const colon = line.indexOf(':')
    return colon < 0 ? [{ text: line }] : [{ kind: 'name', text: line.slice(0, colon) }, { text: line.slice(colon) }]
  })
}

function patternOf(language: CodeLanguage): RegExp {
  const comment = { json: '(?!)', headers: '(?!)', shell: '(?<=^|\\s)#.*', python: '#.*' }[language as string] ?? '//.*'
  return new RegExp(`(?<comment>${comment})|${STRING.source}|${NUMBER.source}|${WORD.source}`, 'gm')
}

/** A quote that is never closed extends to the end of its line: searching on for its end would take quadratic time. */
const STRING = /(?<string>"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|`(?:\\.|[^`\\])*`?)/
const NUMBER = /(?<number>\b\d+(?:\.\d+)?\b)/
const WORD = /(?<word>\b[a-zA-Z]+\b)/
const WORDS = new Set([
  ...['true', 'false', 'null', 'nil', 'await', 'const', 'let', 'var', 'new', 'return', 'import', 'from'],
  ...[
    'export',
    'def',
    'class',
    'func',
    'package',
    'public',
    'static',
    'void',
    'using',
    'throws',
    'with',
    'echo',
    'print',
  ],
])

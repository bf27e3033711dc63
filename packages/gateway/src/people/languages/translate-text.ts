/** Gives a text in another language, as far as it is known, and the text itself otherwise. */
export type Translate = (text: string) => string

/** Longer texts stay as they are. The longest that the gateway composes lists faults of a file. */
const TEXT_LENGTH_MAX = 4_000
/** A value may be a text with values of its own: the reason in “The health check failed: {message}.” */
const DEPTH_MAX = 3

/** “The plan {planName} has no such rule.” in its parts, with its translation. */
interface Template {
  /** `The plan `, ` has no such rule.` */
  literals: readonly string[]
  /** `planName` */
  names: readonly string[]
  translation: string
}

/**
 * Recognises composed texts by their templates and composes them again in another language. Each template is compared once
 * with each text, by searching its literal parts from left to right, so that the time is linear in the length of the text.
 *
 * @param texts translations by English template: `{"The plan {planName} has no such rule.": "方案 {planName} 没有此规则。"}`
 */
export function createTranslate(texts: Readonly<Record<string, string>>): Translate {
  const fixed = new Map<string, string>()
  const templates = new Map<string, Template[]>()
  const entries = Object.entries(texts).sort(([left], [right]) => literalLength(right) - literalLength(left))
  for (const [english, translation] of entries) {
    const literals = english.split(PLACEHOLDER)
    if (literals.length === 1) fixed.set(english, translation)
    else {
      const template = { literals, names: placeholdersOf(english), translation }
      const initial = literals[0]!.charAt(0)
      templates.set(initial, [...(templates.get(initial) ?? []), template])
    }
  }

  const translate = (text: string, depth: number): string => {
    if (text.length > TEXT_LENGTH_MAX || depth > DEPTH_MAX) return text
    const known = fixed.get(text)
    if (known !== undefined) return known
    const found = matchesOf(text)
    const [match] = found.filter(({ values }) => !values.some((value) => SENTENCE_END.test(value)))
    if (match) return compose(match, depth)
    const sentences = text.split(SENTENCE_END)
    if (sentences.length > 1) {
      const translated = sentences.map((sentence) => translate(sentence, depth + 1))
      if (translated.some((sentence, index) => sentence !== sentences[index])) return joinSentences(translated)
    }
    return found[0] ? compose(found[0], depth) : text
  }

  /** Those with the longest literal parts first. */
  function matchesOf(text: string): Match[] {
    const candidates = [templates.get(text.charAt(0)), templates.get('')]
    return candidates.flatMap((group = []) =>
      group.flatMap((template) => {
        const values = valuesOf(template, text, fixed)
        return values ? [{ template, values }] : []
      }),
    )
  }

  function compose({ template: { names, translation }, values }: Match, depth: number): string {
    const translated = values.map((value) => translateValue(value, depth + 1))
    return translation.replace(PLACEHOLDERS, (_, name: string) => translated[names.indexOf(name)] ?? '')
  }

  /** Faults are listed with semicolons. */
  function translateValue(value: string, depth: number): string {
    const translated = translate(value, depth)
    if (translated !== value || !value.includes('; ')) return translated
    return value
      .split('; ')
      .map((part) => translate(part, depth))
      .join('; ')
  }

  return (text) => translate(text, 0)
}

interface Match {
  template: Template
  values: readonly string[]
}

const PLACEHOLDER = /\{\w+\}/
const PLACEHOLDERS = /\{(\w+)\}/g
/** Between two sentences. */
const SENTENCE_END = /(?<=[.!?]) (?=[A-Z“"])/

function placeholdersOf(text: string): string[] {
  return [...text.matchAll(PLACEHOLDERS)].map(([, name]) => name!)
}

function literalLength(template: string): number {
  return template.split(PLACEHOLDER).join('').length
}

/** @returns undefined if the text is not one of the template */
function valuesOf({ literals }: Template, text: string, known: ReadonlyMap<string, string>): string[] | undefined {
  const [first, last] = [literals[0]!, literals.at(-1)!]
  const end = text.length - last.length
  if (end < first.length || !text.startsWith(first) || !text.endsWith(last)) return undefined
  const values: string[] = []
  let from = first.length
  for (const literal of literals.slice(1, -1)) {
    const at = literal === ' ' ? endOfName(text, from, known) : text.indexOf(literal, from)
    if (at === -1 || at + literal.length > end) return undefined
    values.push(text.slice(from, at))
    from = at + literal.length
  }
  return [...values, text.slice(from, end)]
}

/** The longest name of a thing: `top-up request`. */
const NAME_WORDS_MAX = 4

/** Where the known name at `from` ends that only a space separates from the next value: `price plan` of “price plan Gold”. */
function endOfName(text: string, from: number, known: ReadonlyMap<string, string>): number {
  const first = text.indexOf(' ', from)
  for (let at = first, words = 1; at !== -1 && words <= NAME_WORDS_MAX; at = text.indexOf(' ', at + 1), words++)
    if (known.has(text.slice(from, at))) return at
  return first
}

/** Chinese sentences have no space between them. */
function joinSentences(sentences: readonly string[]): string {
  return sentences.reduce((text, sentence) => text + (/[。！？：]$/.test(text) ? '' : ' ') + sentence)
}

import type { MessageFormatElement, PluralElement, TYPE } from '@formatjs/icu-messageformat-parser'

/**
 * A parsed message as browsers load it, a kilobyte less of a first visit. A literal is its text, a placeholder a list of its name, a plural
 * a list of its name and its forms, and `#` is 0. `{count, plural, one {# day} other {# days}} in {place}` is
 * `[["count", {"one": [0, " day"], "other": [0, " days"]}], " in ", ["place"]]`.
 */
export type PackedMessage = (
  | string
  | typeof POUND
  | [name: string, forms?: Record<string, PackedMessage>]
  | PackedElement
)[]

/** An element as the parser returns it, with packed messages inside. */
interface PackedElement {
  type: number
  children?: PackedMessage
}

const POUND = 0

/** As the parser numbers them. Its own names would bring along its code. */
const TYPES = {
  literal: 0 as TYPE.literal,
  argument: 1 as TYPE.argument,
  plural: 6 as TYPE.plural,
  pound: 7 as TYPE.pound,
  tag: 8 as TYPE.tag,
}

export function pack(message: readonly MessageFormatElement[]): PackedMessage {
  return message.map((element) => {
    if (element.type === TYPES.literal) return element.value
    if (element.type === TYPES.pound) return POUND
    if (element.type === TYPES.argument) return [element.value]
    if (element.type === TYPES.tag) return { ...element, children: pack(element.children) }
    if (element.type === TYPES.plural && isCounting(element))
      return [element.value, mapValues(element.options, ({ value }) => pack(value))]
    return element as PackedElement
  })
}

export function unpack(message: PackedMessage): MessageFormatElement[] {
  return message.map((element) => {
    if (typeof element === 'string') return { type: TYPES.literal, value: element }
    if (element === POUND) return { type: TYPES.pound }
    if (!Array.isArray(element)) return element.children ? { ...element, children: unpack(element.children) } : element
    const [value, forms] = element
    if (forms === undefined) return { type: TYPES.argument, value }
    const options = mapValues(forms, (form) => ({ value: unpack(form) }))
    return { type: TYPES.plural, value, options, offset: 0, pluralType: 'cardinal' }
  }) as MessageFormatElement[]
}

function isCounting({ offset, pluralType }: PluralElement): boolean {
  return offset === 0 && pluralType === 'cardinal'
}

function mapValues<From, To>(members: Record<string, From>, map: (value: From) => To): Record<string, To> {
  return Object.fromEntries(Object.entries(members).map(([name, value]) => [name, map(value)]))
}

import type { MessageFormatElement, TYPE } from '@formatjs/icu-messageformat-parser'

/**
 * A parsed message as browsers load it, a kilobyte less of a first visit: a literal is its text, and a placeholder a list of its name.
 * `For {dealer}` is `["For ", ["dealer"]]`.
 */
export type PackedMessage = (string | [name: string] | PackedElement)[]

/** An element as the parser returns it, with packed messages inside. */
interface PackedElement {
  type: number
  options?: Record<string, { value: PackedMessage }>
  children?: PackedMessage
}

/** As the parser numbers them. Its own names would bring along its code. */
const LITERAL = 0 as TYPE.literal
const ARGUMENT = 1 as TYPE.argument

export function pack(message: readonly MessageFormatElement[]): PackedMessage {
  return message.map((element) => {
    if (element.type === LITERAL) return element.value
    if (element.type === ARGUMENT) return [element.value]
    return mapInside(element as PackedElement, (inside) => pack(inside as MessageFormatElement[]))
  })
}

export function unpack(message: PackedMessage): MessageFormatElement[] {
  return message.map((element) => {
    if (typeof element === 'string') return { type: LITERAL, value: element }
    if (Array.isArray(element)) return { type: ARGUMENT, value: element[0] }
    return mapInside(element, (inside) => unpack(inside as PackedMessage) as PackedMessage)
  }) as MessageFormatElement[]
}

function mapInside(element: PackedElement, map: (message: unknown) => PackedMessage): PackedElement {
  const { options, children } = element
  const mapped = Object.entries(options ?? {}).map(([name, option]) => [name, { ...option, value: map(option.value) }])
  return {
    ...element,
    ...(options && { options: Object.fromEntries(mapped) }),
    ...(children && { children: map(children) }),
  }
}

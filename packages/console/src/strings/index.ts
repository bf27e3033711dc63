import en from './en.json'

/** Every text of the console. A language is a file with the same members as en.json. */
export type Strings = typeof en
export const t: Strings = en

/** Fills the {places} of a text. */
export function say(text: string, parts: Record<string, string | number>): string {
  return text.replaceAll(/\{(\w+)\}/g, (place, name: string) => String(parts[name] ?? place))
}

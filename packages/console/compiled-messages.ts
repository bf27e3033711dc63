import { type MessageFormatElement, parse } from '@formatjs/icu-messageformat-parser'
import type { Plugin } from 'vite'

/**
 * Parses the texts when the console is built, so that browsers load no parser (7 kB of a first visit's 300). A text with values becomes what
 * the parser returns, e.g. `For {dealer}` becomes `[{"type":0,"value":"For "},{"type":1,"value":"dealer"}]`.
 */
export function compiledMessages(): Plugin {
  return {
    name: 'compiled-messages',
    enforce: 'pre',
    config: () => ({ resolve: { alias: [{ find: /^@formatjs\/icu-messageformat-parser$/, replacement: NO_PARSER }] } }),
    transform(code, id) {
      return LANGUAGE_FILE.test(id) ? { code: JSON.stringify(compile(JSON.parse(code))), map: null } : null
    },
  }
}

const NO_PARSER = '@formatjs/icu-messageformat-parser/no-parser.js'
const LANGUAGE_FILE = /src[\\/]strings[\\/][\w-]+\.json$/

type Texts = { [name: string]: string | Texts }
type Compiled = string | MessageFormatElement[] | { [name: string]: Compiled }

function compile(texts: Texts | string): Compiled {
  if (typeof texts === 'object')
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, compile(text)]))
  return texts.includes('{') ? parse(texts, { captureLocation: false }) : texts
}

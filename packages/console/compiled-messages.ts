import { parse } from '@formatjs/icu-messageformat-parser'
import type { Plugin } from 'vite'
import { type PackedMessage, pack } from './src/strings/packed-message.ts'
import { pageTextsOf, type Strings, startTextsOf } from './src/strings/text-parts.ts'

/**
 * Parses the texts when the console is built, so that browsers load no parser (7 kB of a first visit's 300). A text with values becomes
 * a packed message: `For {dealer}` becomes `["For ",["dealer"]]`. A language becomes two files, see text-parts.ts.
 */
export function compiledMessages(): Plugin {
  return {
    name: 'compiled-messages',
    enforce: 'pre',
    apply: 'build',
    config: () => ({ resolve: { alias: [{ find: /^@formatjs\/icu-messageformat-parser$/, replacement: NO_PARSER }] } }),
    transform(code, id) {
      const [file, query] = LANGUAGE_FILE.exec(id) ?? []
      if (file === undefined) return null
      const texts = JSON.parse(code) as Strings
      const part = query === undefined ? startTextsOf(texts) : pageTextsOf(texts)
      return { code: JSON.stringify(compile(part)), map: null }
    },
  }
}

const NO_PARSER = '@formatjs/icu-messageformat-parser/no-parser.js'
const LANGUAGE_FILE = /src[\\/]strings[\\/][\w-]+\.json(\?pages\.json)?$/

type Texts = { [name: string]: string | Texts }
type Compiled = string | PackedMessage | { [name: string]: Compiled }

function compile(texts: Texts | string): Compiled {
  if (typeof texts === 'object')
    return Object.fromEntries(Object.entries(texts).map(([name, text]) => [name, compile(text)]))
  return texts.includes('{') ? pack(parse(texts, { captureLocation: false })) : texts
}

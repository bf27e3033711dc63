import { readdirSync, readFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { dirname, join } from 'node:path'
import type { Plugin } from 'vite'

/**
 * Drops the parts of library components that nothing shows: `Menu.Sub = MenuSub` alone keeps MenuSub, its hooks and its
 * styles in what every page loads.
 */
export function dropUnusedParts(): Plugin {
  let used: Set<string> | undefined
  return {
    name: 'drop-unused-parts',
    apply: 'build',
    transform(code, id) {
      if (!COMPONENT.test(id)) return null
      used ??= usedParts()
      const rest = code.replace(PART, (line, part: string) => (used?.has(part) ? line : ''))
      return rest === code ? null : { code: rest, map: null }
    },
  }
}

const COMPONENT = /@mantine[\\/]core[\\/]esm[\\/]components[\\/].*\.mjs$/
/** Such as `Menu.Sub = MenuSub;`, a line of its own. */
const PART = /^([A-Z]\w*\.[A-Z]\w*) = \w+;$/gm

/** Such as Menu.Item: named by the console, or anywhere in its libraries. */
export function usedParts(): Set<string> {
  const library = (name: string) => join(dirname(createRequire(import.meta.url).resolve(name)), '../esm')
  const libraries = ['@mantine/core', '@mantine/notifications'].flatMap((name) => filesOf(library(name), /\.mjs$/))
  const sources = [...filesOf(join(import.meta.dirname, 'src'), /\.tsx?$/), ...libraries]
  return new Set(
    sources.flatMap((path) => {
      // Not where a part is assigned, and not in a message.
      const code = readFileSync(path, 'utf8')
        .replace(PART, '')
        .replace(/"[^"\n]*"/g, '')
      return code.match(/\b[A-Z]\w*\.[A-Z]\w*/g) ?? []
    }),
  )
}

function filesOf(folder: string, name: RegExp): string[] {
  return readdirSync(folder, { recursive: true, encoding: 'utf8' })
    .filter((path) => name.test(path))
    .map((path) => join(folder, path))
}

/** Flags are drawn on 513 × 342 units and shown in 18 × 12 pixels: decimals are a quarter of their bytes, and invisible. */
export function roundFlags(): Plugin {
  return {
    name: 'round-flags',
    apply: 'build',
    transform(code, id) {
      if (!FLAG.test(id) || code.includes('transform=')) return null
      return { code: code.replace(DRAWN, roundNumbers), map: null }
    },
  }
}

const FLAG = /country-flag-icons[\\/]string[\\/]3x2[\\/]/
/** The path of a line without arcs, whose flags have no space between them: "011.5" is 0, 1 and 1.5. */
const DRAWN = /(?<= d=\\?")[^"aA\\]+(?=\\?")/g

/** "m47.8 138.9-4-12.8" becomes "m48 139-4-13". */
export function roundNumbers(drawn: string): string {
  return drawn.replace(/-?\d*\.\d+/g, (number, at: number) => {
    const rounded = String(Math.round(Number(number)))
    // ".5.5" is two numbers.
    return /[\d.]/.test(drawn[at - 1] ?? '') && !rounded.startsWith('-') ? ` ${rounded}` : rounded
  })
}

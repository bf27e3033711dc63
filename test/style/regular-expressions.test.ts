import { check } from 'recheck'
import ts from 'typescript'
import { expect, it } from 'vitest'
import { listFiles, readLines } from './repository.ts'

/*
 * A regular expression that backtracks takes quadratic or exponential time on a text made for it, and nothing else runs in
 * the meantime. Most of our texts come from callers, suppliers, files or providers, so the rule holds for all.
 */

/** By file and source, each with the reason why it may stay. */
const ACCEPTED: [file: string, source: string, reason: string][] = [
  ['packages/lib/src/postgres/migrations.ts', '--[^\\n]*|', 'reads only our own migrations'],
  ['packages/gateway/src/catalogue/files/csv-columns.ts', '[[.].*$', 'reads only member names of our own schema'],
]
/** Most take milliseconds; a busy machine takes many times longer for the slowest. */
const CHECK_TIMEOUT_MS = 60_000

interface Found {
  source: string
  flags: string
  at: string
}

it('every regular expression runs in time linear in its text', { timeout: 300_000 }, async () => {
  const found = listFiles(/^packages\/[^/]+\/src\/.*(?<!\.test)\.tsx?$/).flatMap(expressionsIn)
  expect(found.length).toBeGreaterThan(300)
  const unique = new Map(found.map((each) => [`/${each.source}/${each.flags}`, each]))
  const slow: string[] = []
  for (const [text, { source, flags, at }] of unique) {
    if (ACCEPTED.some(([file, start]) => at.startsWith(`${file}:`) && source.startsWith(start))) continue
    const result = await check(source, flags, { timeout: CHECK_TIMEOUT_MS, randomSeed: 1 })
    if (result.status === 'safe') continue
    // Expressions with look-around are attacked with random texts, and their steps are only estimated: the engine decides.
    if (result.status === 'vulnerable' && result.checker === 'fuzz' && isFastOn({ source, flags }, result.attack))
      continue
    slow.push(`${at}: ${text} ${result.status === 'vulnerable' ? result.complexity.summary : result.error.kind}`)
  }
  expect(slow).toEqual([])
})

/** True if a text four times as long does not take much longer, or takes hardly any time. */
function isFastOn({ source, flags }: Pick<Found, 'source' | 'flags'>, { pumps, suffix }: Attack): boolean {
  const textOfLength = (length: number) => {
    const times = Math.ceil(length / pumps.reduce((sum, { pump }) => sum + pump.length, 0))
    return pumps.map(({ prefix, pump }) => prefix + pump.repeat(times)).join('') + suffix
  }
  const timeOf = (length: number) => {
    const text = textOfLength(length)
    const startedAt = process.cpuUsage() // processor time, not the time of a clock, because other programs share the machine
    text.replaceAll(new RegExp(source, flags.includes('g') ? flags : `${flags}g`), '')
    return process.cpuUsage(startedAt).user / 1_000
  }
  const [short, long] = [timeOf(8_000), timeOf(32_000)]
  return long < 50 || long < 8 * short
}

interface Attack {
  pumps: readonly { prefix: string; pump: string }[]
  suffix: string
}

it('each expression is tried on a text that makes it quadratic, and on a harmless text', () => {
  const attack = { pumps: [{ prefix: '', pump: '.' }], suffix: 'a' }
  expect(isFastOn({ source: '\\.+$', flags: '' }, attack)).toBe(false)
  expect(isFastOn({ source: '(?<!\\.)\\.+$', flags: '' }, attack)).toBe(true)
})

it('detects quadratic and exponential expressions', async () => {
  for (const source of ['\\.+$', '^(a+)+$']) expect((await check(source, '')).status).toBe('vulnerable')
})

/** Literals, `new RegExp` of a text or of joined texts, and the patterns of JSON schemas. */
function expressionsIn(file: string): Found[] {
  const tree = ts.createSourceFile(file, readLines(file).join('\n'), ts.ScriptTarget.Latest, true)
  const found: Found[] = []
  const add = (node: ts.Node, source: string, flags: string) =>
    found.push({ source, flags, at: `${file}:${tree.getLineAndCharacterOfPosition(node.getStart()).line + 1}` })
  const visit = (node: ts.Node): void => {
    if (ts.isRegularExpressionLiteral(node)) {
      const end = node.text.lastIndexOf('/')
      add(node, node.text.slice(1, end), node.text.slice(end + 1))
    } else if (ts.isPropertyAssignment(node) && node.name.getText() === 'pattern') {
      const source = textOf(node.initializer)
      if (source !== undefined) add(node, source, 'u')
    } else if (ts.isNewExpression(node) && node.expression.getText() === 'RegExp') {
      const [source, flags] = (node.arguments ?? []).map(textOf)
      if (source !== undefined) add(node, source, flags ?? '')
    }
    ts.forEachChild(node, visit)
  }
  visit(tree)
  return found
}

/** The value of a literal, or of `[…].join('')`. */
function textOf(node: ts.Expression): string | undefined {
  if (ts.isStringLiteralLike(node)) return node.text
  if (!ts.isCallExpression(node) || !ts.isPropertyAccessExpression(node.expression)) return undefined
  const { expression: list, name } = node.expression
  if (name.text !== 'join' || !ts.isArrayLiteralExpression(list)) return undefined
  return list.elements.map((element) => (ts.isStringLiteralLike(element) ? element.text : '')).join('')
}

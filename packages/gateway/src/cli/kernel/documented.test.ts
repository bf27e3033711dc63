import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { Command } from 'commander'
import { beforeAll, expect, test } from 'vitest'
import { packageRoot } from '#platform/package-root.ts'
import { NOUNS } from '../admin-program.ts'
import { adminContext } from './context.ts'

/** Finds every admin command in the documentation: in code blocks, tables and sentences. */
const root = join(packageRoot(), '../..')
const pages = [
  'README.md',
  ...readdirSync(join(root, 'docs'))
    .filter((name) => name.endsWith('.md'))
    .map((name) => `docs/${name}`),
]
const program = new Command('admin').option('--json')
beforeAll(async () => {
  for (const { name, load } of NOUNS) (await load())(program.command(name), adminContext(program))
}, 60_000)

const START = new RegExp(
  `(?:npm run -s admin -- |^ {4}|\`)(?=(?:${NOUNS.map(({ name }) => name).join('|')}) )([^\`\\n]+)`,
  'gm',
)
const documented = pages.flatMap((page) => {
  const text = readFileSync(join(root, page), 'utf8').replace(/ \\\n +/g, ' ')
  // A command ends at two spaces, which begin a remark, or at a shell operator.
  return [...text.matchAll(START)].map(([, line = '']) => ({ page, line: line.split(/ {2,}|[|>#;)]/)[0]!.trim() }))
})

test('the operator pages contain at least one command', () => {
  const of = (page: string) => documented.filter((each) => each.page === page).length
  for (const page of ['docs/catalogue.md', 'docs/money.md', 'docs/suppliers.md', 'docs/running.md']) {
    expect([page, of(page)]).toEqual([page, expect.any(Number)])
    expect(of(page)).toBeGreaterThan(2)
  }
})

test.each(documented)('$page: “$line” is an existing command with valid options', ({ line }) => {
  const words = line.replace(/"[^"]*"/g, 'TEXT').split(' ')
  let command: Command = program
  while (command.commands.length > 0 && words[0] !== '--help') {
    const next = command.commands.find((each) => each.name() === words[0])
    expect(next, `“${words[0]}” of “${line}”`).toBeDefined()
    command = next!
    words.shift()
  }
  const known = ['--help', ...[...command.options, ...program.options].map(({ long }) => long)]
  for (const word of words) if (word.startsWith('--')) expect(known).toContain(word)
})

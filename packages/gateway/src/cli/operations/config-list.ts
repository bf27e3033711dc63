import type { Command } from 'commander'
import { inspectConfig } from '#platform/config/config.ts'
import { readVariableText, type VariableText } from '#platform/config/variable-text.ts'
import { VARIABLES, type Variable } from '#platform/config/variables.ts'
import type { AdminContext } from '../kernel/context.ts'
import { type Column, table } from '../kernel/text-table.ts'

const MASK = '********'
const SOURCES = { ENVIRONMENT: 'environment', DEFAULT: 'default', NOT_SET: 'not set' } as const

export function configCommands(config: Command, context: AdminContext): void {
  config
    .command('list')
    .description(
      'Print every setting of the gateway, its value and where it comes from: the environment, a file or the default. Secrets are masked. Lists faults too, and then exits with 1.',
    )
    .addHelpText('after', '\nExample:\n  npm run -s admin -- config list')
    .action(() => {
      const settings = Object.values<Variable<unknown>>(VARIABLES).map((variable) => describe(variable, process.env))
      const { faults } = inspectConfig(process.env, [])
      const lines = [table(settings, COLUMNS, ''), ...faults.map((fault) => `FAULT: ${fault}`)]
      if (faults.length > 0) context.exitCode = 1
      context.print(lines.join('\n'), { settings, faults })
    })
}

interface Setting {
  name: string
  value: string | null
  source: string
}

const COLUMNS: Column<Setting>[] = [
  { title: 'setting', value: ({ name }) => name },
  { title: 'value', value: ({ value }) => value ?? '' },
  { title: 'source', value: ({ source }) => source },
]

function describe(variable: Variable<unknown>, env: NodeJS.ProcessEnv): Setting {
  const { name, secret } = variable
  try {
    const found = readVariableText(variable, env)
    const isHidden = secret && found.source !== 'DEFAULT' && found.text !== undefined
    return { name, value: isHidden ? MASK : (found.text ?? null), source: sourceText(found) }
  } catch {
    return { name, value: null, source: 'faulty, see below' }
  }
}

function sourceText({ source, file }: VariableText): string {
  return source === 'FILE' ? `file ${file}` : SOURCES[source]
}

import type { Config } from './config.ts'
import { VARIABLES, type Variable } from './variables.ts'

interface DescribedVariable {
  name: string
  description: string
  /** null: not set, or a secret. */
  value: string | null
  /** SECRET: set, but never shown. */
  state: 'SET' | 'DEFAULT' | 'NOT_SET' | 'SECRET'
}

/** This process's variables as people may see them. */
export function describeVariables(config: Config): DescribedVariable[] {
  return Object.entries<Variable<unknown>>(VARIABLES).map(([key, variable]) => {
    const { name } = variable
    const description = plainDescription(variable)
    const value = textOf(config[key as keyof Config])
    const usual = variable.default === undefined ? null : textOf(variable.parse(variable.default))
    if (value === null) return { name, description, value, state: 'NOT_SET' }
    if (variable.secret) return { name, description, value: null, state: 'SECRET' }
    return { name, description, value, state: value === usual ? 'DEFAULT' : 'SET' }
  })
}

/** Without the links, which are those of the documentation. */
export function plainDescription({ description }: Variable<unknown>): string {
  return description.replaceAll(/\[([^[\]]+)\]\([^()]*\)/g, '$1')
}

/** A parsed value as written in the environment; null if it is empty. */
function textOf(value: unknown): string | null {
  if (value === undefined || value === null) return null
  if (value instanceof Map) return textOf(Array.from(value, (pair) => pair.join('=')))
  if (Array.isArray(value)) return value.length === 0 ? null : value.join(', ')
  if (typeof value === 'object') return Object.keys(value).length === 0 ? null : Object.keys(value).join(', ')
  return String(value)
}

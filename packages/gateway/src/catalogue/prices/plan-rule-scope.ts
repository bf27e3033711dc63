import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { checkExists, invalidField } from '../catalogue-checks.ts'
import { isLocation } from '../coverage.ts'
import type { RuleScope } from './plan-rules.ts'

/**
 * The packages of a rule, as people enter them. At most one member is set; if no member is set, the rule is for every
 * package.
 */
export interface RuleTarget {
  readonly packageCode?: string | null | undefined
  readonly locationCode?: string | null | undefined
  readonly supplier?: string | null | undefined
}

const MEMBERS = { packageCode: 'PACKAGE', locationCode: 'LOCATION', supplier: 'SUPPLIER' } as const

/** A rule's scope and target, as stored. */
export interface StoredScope {
  readonly scope: RuleScope
  readonly target: string
}

/** @throws Refusal if more than one member is set */
export function scopeOf(named: RuleTarget): StoredScope {
  const set = (Object.keys(MEMBERS) as (keyof typeof MEMBERS)[]).filter((member) => named[member] != null)
  const [member, second] = set
  if (second !== undefined)
    throw invalidField(second, 'A rule applies to a package, a location or a supplier: choose only one.')
  return member === undefined ? { scope: 'ALL', target: '' } : { scope: MEMBERS[member], target: named[member]! }
}

/** The reverse of `scopeOf`, with every member. */
export function targetOf({ scope, target }: StoredScope) {
  return {
    packageCode: scope === 'PACKAGE' ? target : null,
    locationCode: scope === 'LOCATION' ? target : null,
    supplier: scope === 'SUPPLIER' ? target : null,
  }
}

/** @throws Refusal if the package or supplier does not exist, or the location cannot */
export async function checkScope(tx: Tx, { scope, target }: StoredScope): Promise<void> {
  switch (scope) {
    case 'PACKAGE':
      return checkExists(tx, 'package', target)
    case 'SUPPLIER':
      return checkExists(tx, 'supplier', target)
    case 'LOCATION':
      if (isLocation(target)) return
      throw invalidField('locationCode', `${target} is neither an ISO 3166-1 alpha-2 country code nor !RG or !GL.`)
    case 'ALL':
      return
    default:
      scope satisfies never
  }
}

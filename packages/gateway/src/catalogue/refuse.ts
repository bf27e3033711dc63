import { FORMS, NAME_LENGTH_MAX } from '@dealer-esim/contract'
import { ApiError } from '../lib/api-error.ts'
import type { Tx } from '../lib/db.ts'

/** A fault in what somebody asks of the catalogue, with the sentence that says what to do. */
export function refused(field: string, reason: string): ApiError {
  return new ApiError('000108', { message: reason, details: [{ field, reason }] })
}

export function checkName(field: string, name: string): void {
  const { pattern, advice } = FORMS.code
  if (name.length > NAME_LENGTH_MAX) throw refused(field, `Use at most ${NAME_LENGTH_MAX} characters.`)
  if (!new RegExp(pattern, 'u').test(name)) throw refused(field, advice)
}

export function checkCurrency(currencyCode: string): void {
  const { pattern, advice } = FORMS.currencyCode
  if (!new RegExp(pattern, 'u').test(currencyCode)) throw refused('currencyCode', advice)
}

const THINGS = {
  package: { table: 'packages', column: 'package_code', field: 'packageCode', reason: 'There is no package' },
  plan: { table: 'price_plans', column: 'plan_name', field: 'planName', reason: 'There is no price plan' },
  group: { table: 'price_groups', column: 'group_name', field: 'groupName', reason: 'There is no price group' },
  tenant: { table: 'tenants', column: 'tenant_id', field: 'tenantId', reason: 'There is no tenant' },
} as const

/** @throws ApiError when it does not exist */
export async function mustExist(tx: Tx, kind: keyof typeof THINGS, name: string): Promise<void> {
  const { table, column, field, reason } = THINGS[kind]
  const rows = await tx.query({ text: `select from ${table} where ${column}::text = $1`, values: [name] })
  if (rows.length === 0) throw refused(field, `${reason} ${name}.`)
}

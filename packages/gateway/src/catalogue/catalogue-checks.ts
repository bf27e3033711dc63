import {
  CURRENCY_ADVICE,
  findFraction,
  formatMoney,
  isCurrency,
  MONEY_MAX,
  NAME_LENGTH_MAX,
  TEXT_PATTERNS,
} from '@dealer-esim/contract'
import type { Tx } from '@dealer-esim/lib/postgres/db.ts'
import { notFound, Refusal } from '@dealer-esim/lib/refusal.ts'

/** Refuses an invalid field of a change, with a message that says how to correct it. */
export function invalidField(field: string, reason: string): Refusal {
  return new Refusal(422, 'INVALID', reason, { details: [{ field, reason }] })
}

/** Refuses a name that is in use. */
export function alreadyExists(what: string, name: string): Refusal {
  return new Refusal(409, 'EXISTS', `A ${what} named ${name} already exists.`)
}

export function checkName(field: string, name: string): void {
  const { pattern, advice } = TEXT_PATTERNS.code
  if (name.length > NAME_LENGTH_MAX) throw invalidField(field, `Use at most ${NAME_LENGTH_MAX} characters.`)
  if (!new RegExp(pattern, 'u').test(name)) throw invalidField(field, advice)
}

export function checkCurrency(currencyCode: string): void {
  if (!isCurrency(currencyCode)) throw invalidField('currencyCode', CURRENCY_ADVICE)
}

export function checkPrice(price: bigint, currencyCode: string): void {
  if (price < 0n || price > MONEY_MAX)
    throw invalidField('price', `Use a price from 0 to ${formatMoney(BigInt(MONEY_MAX))}.`)
  const fraction = findFraction(price, currencyCode)
  if (fraction !== undefined) throw invalidField('price', fraction)
}

const ENTITIES = {
  package: { what: 'package', table: 'packages', removable: false, column: 'package_code' },
  plan: { what: 'price plan', table: 'price_plans', removable: true, column: 'plan_name' },
  group: { what: 'price group', table: 'price_groups', removable: true, column: 'group_name' },
  supplier: { what: 'supplier', table: 'suppliers', removable: false, column: 'supplier' },
  tenant: { what: 'tenant', table: 'tenants', removable: false, column: 'tenant_id' },
} as const

/** @param name as stored: a tenant's id has passed `requireUuid`. @throws Refusal if it does not exist */
export async function checkExists(tx: Tx, kind: keyof typeof ENTITIES, name: string): Promise<void> {
  const { what, table, column, removable } = ENTITIES[kind]
  const notRemoved = removable ? 'and not removed' : ''
  const rows = await tx.query({ text: `select from ${table} where ${column} = $1 ${notRemoved}`, values: [name] })
  if (rows.length === 0) throw notFound(what, name)
}

/** Inserts a name. Names of deleted entries may be reused. @returns false if the name is in use */
export async function insertName(tx: Tx, kind: 'plan' | 'group', name: string): Promise<boolean> {
  const made = await tx.query({
    text: `insert into price_${kind}s as known (${kind}_name, created_at) values ($1, now())
           on conflict (${kind}_name) do update set removed = false, created_at = excluded.created_at
           where known.removed returning ${kind}_name`,
    values: [name],
  })
  return made.length > 0
}

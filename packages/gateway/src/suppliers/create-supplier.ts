import type { Cipher } from '@dealer-esim/lib/crypto.ts'
import type { Ids } from '@dealer-esim/lib/ids.ts'
import type { Outbound } from '@dealer-esim/lib/outbound/outbound.ts'
import type { Db } from '@dealer-esim/lib/postgres/db.ts'
import type { Wakeups } from '@dealer-esim/lib/postgres/wakeups.ts'
import { listMemberFaults, listSchemaFaults } from '@dealer-esim/lib/schema-faults.ts'
import { airaloSupplier } from '@dealer-esim/wholesalers/airalo/airalo.ts'
import { airaloConfig } from '@dealer-esim/wholesalers/airalo/client.ts'
import { es2plusSupplier } from '@dealer-esim/wholesalers/es2plus/es2plus.ts'
import { es2plusConfig, findEs2plusFault } from '@dealer-esim/wholesalers/es2plus/es2plus-config.ts'
import { esimAccessConfig } from '@dealer-esim/wholesalers/esim-access/client.ts'
import { esimAccessSupplier } from '@dealer-esim/wholesalers/esim-access/esim-access.ts'
import { esimGoConfig } from '@dealer-esim/wholesalers/esim-go/client.ts'
import { esimGoSupplier } from '@dealer-esim/wholesalers/esim-go/esim-go.ts'
import { findEventAddressFault } from '@dealer-esim/wholesalers/event-senders.ts'
import { gatewayConfig } from '@dealer-esim/wholesalers/gateway/client.ts'
import { gatewaySupplier } from '@dealer-esim/wholesalers/gateway/gateway.ts'
import { findMobimatterFault, mobimatterConfig } from '@dealer-esim/wholesalers/mobimatter/client.ts'
import { mobimatterSupplier } from '@dealer-esim/wholesalers/mobimatter/mobimatter.ts'
import { sandboxConfig, sandboxSupplier } from '@dealer-esim/wholesalers/sandbox/sandbox.ts'
import { type Supplier, supplierOwner } from '@dealer-esim/wholesalers/supplier.ts'
import { zenditConfig } from '@dealer-esim/wholesalers/zendit/client.ts'
import { zenditSupplier } from '@dealer-esim/wholesalers/zendit/zendit.ts'
import type { Static, TSchema } from 'typebox'
import type { Config } from '#platform/config/config.ts'
import { tenantClock } from '#platform/test-time.ts'
import { stockConfig, stockSupplier } from '#stock/stock.ts'
import { maskOf, type NamedValue, recordableOutbound } from './recording/record-calls.ts'

export interface CreateSupplierDeps {
  config?: Pick<Config, 'deployment'>
  db: Db
  ids: Ids
  cipher: Pick<Cipher, 'encrypt' | 'decrypt'>
  outbound: Outbound
  linkKey: Buffer
  wake: Pick<Wakeups<'stock'>, 'wake'>
}

/** The configuration does not match its supplier type; the message lists the faults. */
export class SupplierConfigError extends Error {
  override readonly name = 'SupplierConfigError'
  /** What is wrong with each member, for a form. */
  readonly fields: Readonly<Record<string, string>>
  constructor(message: string, fields: Readonly<Record<string, string>> = {}) {
    super(message)
    this.fields = fields
  }
}

/** A type of supplier: the schema of its configuration, its factory and its documentation. */
interface SupplierKind {
  /** The schema rejects unknown members. */
  config: TSchema
  /** Finds a fault that the schema cannot express. */
  findFault?(config: unknown): string | undefined
  create(name: string, config: unknown, deps: CreateSupplierDeps): Supplier
  docs: string
}

function kindOf<Schema extends TSchema>(kind: {
  config: Schema
  findFault?(config: Static<Schema>): string | undefined
  create(name: string, config: Static<Schema>, deps: CreateSupplierDeps): Supplier
  docs?: string
}): SupplierKind {
  return { docs: 'docs/suppliers.md', ...kind } as SupplierKind
}

/** All types. A new one needs a folder, a line here and a chapter in the documentation. */
const KINDS = {
  sandbox: kindOf({
    config: sandboxConfig,
    create: (name, config, deps) => sandboxSupplier(name, config, { ...deps, nowOf: tenantClock }),
  }),
  stock: kindOf({ config: stockConfig, create: stockSupplier }),
  es2plus: kindOf({
    config: es2plusConfig,
    findFault: findEs2plusFault,
    create: es2plusSupplier,
    docs: 'docs/es2plus.md',
  }),
  gateway: kindOf({ config: gatewayConfig, create: gatewaySupplier }),
  airalo: kindOf({ config: airaloConfig, create: airaloSupplier, docs: 'docs/airalo.md' }),
  'esim-access': kindOf({
    config: esimAccessConfig,
    findFault: findEventAddressFault,
    create: esimAccessSupplier,
    docs: 'docs/esim-access.md',
  }),
  'esim-go': kindOf({ config: esimGoConfig, create: esimGoSupplier, docs: 'docs/esim-go.md' }),
  mobimatter: kindOf({
    config: mobimatterConfig,
    findFault: findMobimatterFault,
    create: mobimatterSupplier,
    docs: 'docs/mobimatter.md',
  }),
  zendit: kindOf({
    config: zenditConfig,
    findFault: findEventAddressFault,
    create: zenditSupplier,
    docs: 'docs/zendit.md',
  }),
}

export type SupplierType = keyof typeof KINDS
export const SUPPLIER_TYPES = Object.keys(KINDS) as SupplierType[]

/** The JSON Schema of a type's configuration and its page in docs/, see settings.ts. */
export function describeSupplierType(type: SupplierType): { config: TSchema; docs: string } {
  const { config, docs }: SupplierKind = KINDS[type]
  return { config, docs }
}

/**
 * Returns whether suppliers of this type need a daily spend limit until a purchase has verified them
 * (verification/verify.ts): their code was written from public documentation and has never run against a live account.
 */
export function needsVerification(type: SupplierType): boolean {
  const { properties = {} } = KINDS[type].config as { properties?: object }
  return 'dailySpendLimit' in properties
}

/** The members of a type's configuration that are secrets. */
export function secretMembers(type: SupplierType): string[] {
  const { properties = {} } = KINDS[type].config as { properties?: Record<string, { writeOnly?: boolean }> }
  return Object.keys(properties).filter((member) => properties[member]!.writeOnly)
}

/** @throws SupplierConfigError */
export function parseSupplierConfig(type: SupplierType, config: unknown): unknown {
  const kind: SupplierKind = KINDS[type]
  const faults = listSchemaFaults(kind.config, config, FORMS)
  const fault = faults.length === 0 ? kind.findFault?.(config) : undefined
  if (fault !== undefined) faults.push(fault)
  if (faults.length === 0) return config
  throw new SupplierConfigError(
    `The configuration is not valid for type ${type}: ${faults.join('; ')}. ${kind.docs} lists its members`,
    Object.fromEntries(
      listMemberFaults(kind.config, config, FORMS).map(({ member, reason }) => [member, sentenceOf(reason)]),
    ),
  )
}

function sentenceOf(reason: string): string {
  return reason === 'is missing' ? 'Enter it.' : `It ${reason}.`
}

/** Creates a supplier from its row. @throws SupplierConfigError, DecryptionFailed */
export function createSupplier(
  deps: CreateSupplierDeps,
  type: SupplierType,
  name: string,
  encryptedConfig: Buffer,
): Supplier {
  const config = JSON.parse(deps.cipher.decrypt(encryptedConfig, supplierOwner(name)).toString())
  const parsed = parseSupplierConfig(type, config)
  const outbound = recordableOutbound(deps.outbound, listAccountValues(type, config))
  return KINDS[type].create(name, parsed, { ...deps, outbound })
}

/** Members of the configuration that determine which account at which supplier is used. */
export const ACCOUNT_MEMBERS: readonly string[] = [
  'url',
  'appKey',
  'accessCode',
  'apiKey',
  'clientId',
  'merchantId',
  'functionRequesterIdentifier',
]

/** The values of an encrypted configuration that identify the account or give access to it. @throws DecryptionFailed */
export function accountValuesOf(
  { cipher }: { cipher: Pick<Cipher, 'decrypt'> },
  type: SupplierType,
  name: string,
  encryptedConfig: Buffer,
): NamedValue[] {
  return listAccountValues(type, JSON.parse(cipher.decrypt(encryptedConfig, supplierOwner(name)).toString()))
}

function listAccountValues(type: SupplierType, config: Record<string, unknown>): NamedValue[] {
  const members = new Set([...secretMembers(type), ...ACCOUNT_MEMBERS])
  members.delete('url') // recordings contain no hosts
  return [...members].flatMap((name) => {
    const value = config[name]
    return typeof value === 'string' ? [{ name, value }] : []
  })
}

/** Members that affect neither requests nor the decoding of answers. */
const UNREAD_MEMBERS = ['dailySpendLimit', 'eventAddresses', 'notices', 'ca', 'cert', 'key', 'webhookPublicKey']

/** The configuration for replaying recorded answers: without a real account or host. @throws DecryptionFailed */
export function maskedConfig(
  deps: { cipher: Pick<Cipher, 'decrypt'> },
  type: SupplierType,
  name: string,
  encryptedConfig: Buffer,
): Record<string, unknown> {
  const config = JSON.parse(deps.cipher.decrypt(encryptedConfig, supplierOwner(name)).toString())
  for (const { name: member } of listAccountValues(type, config)) config[member] = maskOf(member)
  for (const member of UNREAD_MEMBERS) delete config[member]
  if (typeof config.url === 'string') config.url = `https://supplier.example.com${new URL(config.url).pathname}`
  return config
}

/** How fault messages describe the patterns in the schemas. */
const FORMS: Readonly<Record<string, string>> = {
  '^https?://': 'an address that begins with https://',
  '^[A-Za-z0-9_-]{8,64}$': '8 to 64 letters, digits, hyphens and underscores',
  '^v?\\d+\\.\\d+\\.\\d+$': 'a version like v2.5.0',
  '^\\d{1,12}(\\.\\d{1,4})?$': 'an amount like 100.00',
  '^[A-Z]{3}$': 'a currency like USD',
  '^\\d{19}$': '19 digits',
  '^([0-9A-Fa-f]{2}:?){32}$': 'a SHA-256 fingerprint: 64 hexadecimal digits',
}

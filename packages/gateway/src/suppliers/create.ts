import type { TSchema } from 'typebox'
import { Value } from 'typebox/value'
import type { Cipher } from '../lib/crypto.ts'
import type { Ids } from '../lib/ids.ts'
import type { Outbound } from '../lib/outbound/outbound.ts'
import type { Db } from '../lib/postgres/db.ts'
import type { Wakeups } from '../lib/postgres/wakeups.ts'
import { type Es2plusConfig, es2plusConfig, findEs2plusFault } from './es2plus/config.ts'
import { es2plusSupplier } from './es2plus/es2plus.ts'
import { type GatewayConfig, gatewayConfig } from './gateway/client.ts'
import { gatewaySupplier } from './gateway/gateway.ts'
import { type SandboxConfig, sandboxConfig, sandboxSupplier } from './sandbox/sandbox.ts'
import { type StockConfig, stockConfig, stockSupplier } from './stock/stock.ts'
import { type Supplier, type SupplierType, supplierOwner } from './supplier.ts'

export interface CreateSupplierDeps {
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
}

/** The schema of each type's configuration. Unknown members are refused. */
const CONFIGS: Record<SupplierType, TSchema> = {
  sandbox: sandboxConfig,
  stock: stockConfig,
  es2plus: es2plusConfig,
  gateway: gatewayConfig,
}

/** @throws SupplierConfigError */
export function parseSupplierConfig(type: SupplierType, config: unknown): unknown {
  const faults = findConfigFaults(CONFIGS[type], config)
  const fault = type === 'es2plus' && faults.length === 0 ? findEs2plusFault(config as Es2plusConfig) : undefined
  if (fault !== undefined) faults.push(fault)
  if (faults.length === 0) return config
  throw new SupplierConfigError(
    `The configuration is not valid for type ${type}: ${faults.join('; ')}. docs/suppliers.md lists its members`,
  )
}

/** Creates a supplier from its row. @throws SupplierConfigError, DecryptionFailed */
export function createSupplier(
  deps: CreateSupplierDeps,
  type: SupplierType,
  name: string,
  encryptedConfig: Buffer,
): Supplier {
  const config = parseSupplierConfig(
    type,
    JSON.parse(deps.cipher.decrypt(encryptedConfig, supplierOwner(name)).toString()),
  )
  switch (type) {
    case 'sandbox':
      return sandboxSupplier(name, config as SandboxConfig, deps)
    case 'stock':
      return stockSupplier(name, config as StockConfig, deps)
    case 'es2plus':
      return es2plusSupplier(name, config as Es2plusConfig, deps)
    case 'gateway':
      return gatewaySupplier(name, config as GatewayConfig, deps)
    default:
      return type satisfies never
  }
}

/** Lists the faults of a configuration, such as "url is missing". */
export function findConfigFaults(schema: TSchema, config: unknown): string[] {
  return [...Value.Errors(schema, config)].flatMap((fault) => {
    const name = fault.instancePath.slice(1).replaceAll('/', '.')
    const inside = (member: string) => (name === '' ? member : `${name}.${member}`)
    switch (fault.keyword) {
      case 'boolean':
        return [] // additionalProperties reports the same member
      case 'required':
        return fault.params.requiredProperties.map((member) => `${inside(member)} is missing`)
      case 'additionalProperties':
        return fault.params.additionalProperties.map((member) => `unknown member ${inside(member)}`)
      case 'pattern':
        return [`${name} must be ${FORMS[String(fault.params.pattern)] ?? `like ${fault.params.pattern}`}`]
      default:
        return [`${name === '' ? 'it' : name} ${fault.message}`]
    }
  })
}

const FORMS: Readonly<Record<string, string>> = {
  '^https?://': 'an address that begins with https://',
  '^[A-Za-z0-9_-]{8,64}$': '8 to 64 letters, digits, hyphens and underscores',
  '^v?\\d+\\.\\d+\\.\\d+$': 'a version like v2.5.0',
  '^\\d{19}$': '19 digits',
  '^([0-9A-Fa-f]{2}:?){32}$': 'a SHA-256 fingerprint: 64 hexadecimal digits',
}

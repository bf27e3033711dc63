import { expect, it } from 'vitest'
import {
  type CreateSupplierDeps,
  createSupplier,
  describeSupplierType,
  parseSupplierConfig,
  type SupplierType,
} from './create-supplier.ts'

type Defaults = Record<string, { default?: unknown } | undefined>

/** The members without a default. */
const REQUIRED: Record<SupplierType, object> = {
  sandbox: {},
  stock: {},
  es2plus: { url: 'https://smdp.test', functionRequesterIdentifier: '1.2.3' },
  gateway: { url: 'https://upstream.test', appKey: 'ak_main_1', appSecret: 's' },
  airalo: { clientId: 'c', clientSecret: 's' },
  'esim-access': { accessCode: 'c', secretKey: 's' },
  'esim-go': { apiKey: 'k' },
  mobimatter: { apiKey: 'k', merchantId: 'm' },
  zendit: { apiKey: 'k' },
}

it.each(Object.entries(REQUIRED))('the defaults in the schema for %s match the defaults that apply', (type, config) => {
  const { properties } = describeSupplierType(type as SupplierType).config as unknown as { properties: Defaults }
  const decrypt = () => Buffer.from(JSON.stringify(config))
  const deps = { cipher: { decrypt }, linkKey: Buffer.alloc(32), db: {}, outbound: {}, ids: {}, wake: {} }
  const { traits } = createSupplier(deps as unknown as CreateSupplierDeps, type as SupplierType, 'one', Buffer.alloc(0))
  const { giveUpAfterMs, settlesMs, concurrency } = properties
  expect(giveUpAfterMs?.default).toBe(traits.giveUpAfterMs)
  if (settlesMs) expect(settlesMs.default).toBe(traits.graceMs)
  if (concurrency) expect(concurrency.default).toBe(traits.concurrency)
})

it.each(Object.keys(REQUIRED))('every optional number and address for %s has a default', (type) => {
  const { properties, required = [] } = describeSupplierType(type as SupplierType).config as unknown as {
    properties: Record<string, { type?: string; default?: unknown }>
    required?: string[]
  }
  const without = Object.entries(properties).filter(
    ([name, member]) => !required.includes(name) && isSimple(name, member.type) && member.default === undefined,
  )
  // No rate is limited by default, unless the wholesaler documents a limit.
  expect(without.map(([name]) => name).filter((name) => name !== 'perSecond')).toEqual([])
})

function isSimple(name: string, type: string | undefined): boolean {
  return type === 'integer' || type === 'number' || name === 'url' || name === 'currencyCode'
}

it.each(['esim-access', 'zendit'] as const)('an event sender for %s must be an address or an address block', (type) => {
  const config = (eventAddresses: string[]) => ({ ...REQUIRED[type], eventAddresses })
  expect(parseSupplierConfig(type, config(['203.0.113.7', '2001:db8::/32']))).toBeDefined()
  expect(() => parseSupplierConfig(type, config(['events.example.com']))).toThrow('neither an address nor a block')
})

import sql from 'sql-template-tag'
import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { brandFor } from '#brands/brand.ts'
import type { BrandInput } from '#brands/brand-members.ts'
import { putOperatorBrand } from '#brands/put-brand.ts'
import { checkBrand } from '#operations/doctor/check-brand.ts'
import { createFindings } from '#operations/doctor/finding.ts'
import { NIL_TENANT } from '#platform/audit/audit.ts'
import { ALICE, createWalletTestbed } from '#test/harness/wallets.ts'

let wallets: Awaited<ReturnType<typeof createWalletTestbed>> // has its own database
let find: (tenantId: string | null, brand?: string | null) => ReturnType<typeof brandFor>

beforeAll(async () => {
  wallets = await createWalletTestbed()
  const deps = { db: wallets.db, links: { publicUrl: 'https://esim.example.com/x' } }
  find = (tenantId, brand = null) => brandFor(deps, tenantId, brand)
})
afterAll(() => wallets.close())

const HASH = 'ab'.repeat(16)

describe('the brand of what a dealer sells', () => {
  it('is the operator’s without a name until the operator and the dealer have set something', async () => {
    const { tenantId } = await wallets.tenant()
    const brand = { name: 'eSIM', isOperator: true, accentInk: '#ffffff', legalLinks: [] }
    expect(await find(null)).toMatchObject(brand)
    expect(await find(tenantId, 'lotus')).toEqual(await find(null))
  })

  it('is the one that is named, else the default one, else the operator’s', async () => {
    const [lotus, other] = [await wallets.tenant(), await wallets.tenant()]
    const settings = { name: 'Lotus Travel', accent: '#f5b800', logoLight: HASH }
    await wallets.db.query(sql`
      insert into operator_settings (contact_name, contact_email, brand)
      values ('Meridian Mobile', 'care@meridian.example', '{"accent": "#14655a", "supportEmail": "old@meridian.example"}')`)
    await wallets.db.query(sql`
      insert into brands (tenant_id, brand, is_default, settings) values
        (${lotus.tenantId}, 'lotus', true, ${settings}),
        (${lotus.tenantId}, 'outlet', false, '{"name": "Lotus Outlet"}')`)
    expect((await find(lotus.tenantId, 'outlet')).name).toBe('Lotus Outlet')
    expect(await find(lotus.tenantId, 'nobody')).toEqual(await find(lotus.tenantId, 'lotus'))
    const brand = await find(lotus.tenantId)
    expect(brand).toMatchObject({ name: 'Lotus Travel', isOperator: false, accent: '#f5b800', accentInk: '#000000' })
    expect(brand.logoLight).toBe(`https://esim.example.com/x/brand/${lotus.tenantId.replaceAll('-', '')}${HASH}.png`)
    // Nothing of the operator's brand fills its gaps.
    expect(brand).not.toHaveProperty('supportEmail')
    const operator = { name: 'Meridian Mobile', isOperator: true, supportEmail: 'care@meridian.example' }
    for (const [tenantId, name] of [
      [other.tenantId, 'lotus'],
      [other.tenantId, null],
      [NIL_TENANT, 'lotus'],
      [null, 'lotus'],
    ] as const)
      expect(await find(tenantId, name)).toMatchObject(operator)
  })
})

describe('the go-live check of the brand', () => {
  const findingOf = async (deployment: 'local' | 'test') => {
    const findings = await checkBrand({ db: wallets.db, config: { deployment } }, createFindings('brand'))
    return findings.map(({ state, message }) => `${state} ${message}`)
  }
  const set = (input: BrandInput, icon: Buffer | null) =>
    putOperatorBrand(wallets.deps, { input, pictures: { icon, logoLight: null } }, ALICE)

  it('names what the operator’s brand lacks, and accepts all of it on a local deployment', async () => {
    await set({ name: 'Meridian' }, null)
    expect(await findingOf('test')).toEqual([
      'WARNING Your brand has no e-mail address for questions, no logo, no link to terms or a legal notice. Set it in the console, on the page Brand.',
    ])
    expect(await findingOf('local')).toEqual(['OK The brand is Meridian.'])
    const legalLinks = [{ label: 'Terms', url: 'https://m.example/terms' }]
    const contact = { name: 'Meridian', supportEmail: 'care@m.example', legalLinks }
    await set(
      contact,
      Buffer.from('<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 9 9"><path d="M0 0h9v9z"/></svg>'),
    )
    expect(await findingOf('test')).toEqual(['OK The brand is Meridian.'])
    await wallets.db.query(sql`update operator_settings set contact_name = null`)
    expect((await findingOf('test'))[0]).toMatch(/^WARNING Your brand has no name\. /)
  })
})

import { randomUUID } from 'node:crypto'
import { makeIccid } from '@dealer-esim/contract'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { addDealer, type Dealer } from '#test/harness/api-node.ts'
import { createTopUpTestbed, type Esim, type TopUpTestbed } from './topup-testbed.ts'

let bed: TopUpTestbed
let esim: Esim
let topUp: TopUpTestbed['supplier']['itself']['topUp']
beforeAll(async () => {
  bed = await createTopUpTestbed()
  esim = await bed.delivered()
  topUp = bed.supplier.itself.topUp
})
afterEach(async () => {
  Object.assign(bed.supplier.itself, { topUp })
  await bed.set(esim, `esim_status = 'GOT_RESOURCE', smdp_status = null, suspended = false`)
})
afterAll(() => bed.close())

const list = (request: object, of: Dealer = bed.dealer) => bed.json(of, 'package/list', request)

/** The codes of the listed packages, sorted. */
async function codesOf(request: object, of?: Dealer): Promise<string[]> {
  const { code, data } = await list(request, of)
  expect(code).toBe('000000')
  return data.packageList.map((item: { packageCode: string }) => item.packageCode).sort()
}

const BASES = ['JP_1_7', 'JP_DAY', 'JP_DAY_1']
const TOP_UPS = ['FR_TOPUP', 'JP_1_7_TOPUP', 'JP_DAY_TOPUP', 'JP_GONE_TOPUP', 'JP_HUGE_TOPUP']
const FITTING = ['JP_1_7_TOPUP', 'JP_GONE_TOPUP', 'JP_HUGE_TOPUP']

describe('package/list by type', () => {
  it('lists packages of one type, by default those that can be bought on their own', async () => {
    expect(await codesOf({})).toEqual(BASES)
    expect(await codesOf({ type: 'BASE' })).toEqual(BASES)
    expect(await codesOf({ type: 'TOPUP' })).toEqual(TOP_UPS)
    expect((await list({ type: 'OTHER' })).code).toBe('000108')
  })

  it('can be combined with other filters, with paging and with updatedSince', async () => {
    expect(await codesOf({ type: 'TOPUP', locationCode: 'FR' })).toEqual(['FR_TOPUP'])
    expect(await codesOf({ type: 'BASE', packageCode: 'FR_TOPUP' })).toEqual([])
    const paged: string[] = []
    let cursor: string | null = null
    do {
      const { data } = await list({ type: 'TOPUP', pageSize: 2, ...(cursor !== null && { cursor }) })
      paged.push(...data.packageList.map((item: { packageCode: string }) => item.packageCode))
      cursor = data.nextCursor
    } while (cursor !== null)
    expect(paged.sort()).toEqual(TOP_UPS)
    expect(await codesOf({ type: 'TOPUP', updatedSince: '2020-01-01T00:00:00.000Z' })).toEqual(TOP_UPS)
  })
})

describe('package/list by eSIM', () => {
  it.each(['esimTranNo', 'iccid'] as const)(
    'lists the packages that can be added to the eSIM identified by %s',
    async (member) => {
      expect(await codesOf({ type: 'TOPUP', [member]: esim[member] })).toEqual(FITTING)
      const both = { esimTranNo: esim.esimTranNo, iccid: esim.iccid }
      expect(await codesOf({ type: 'TOPUP', ...both, packageCode: 'FR_TOPUP' })).toEqual([])
    },
  )

  it('lists day passes for an eSIM that was bought as a day pass', async () => {
    const { esimTranNo } = await bed.delivered('JP_DAY', bed.dealer, 3)
    expect(await codesOf({ type: 'TOPUP', esimTranNo })).toEqual(['JP_DAY_TOPUP'])
  })

  it('with updatedSince or without type TOPUP is refused with 000108 before the eSIM is looked up', async () => {
    for (const esimTranNo of [esim.esimTranNo, randomUUID()]) {
      const updatedSince = '2020-01-01T00:00:00.000Z'
      for (const request of [{}, { type: 'BASE' }, { updatedSince }, { type: 'TOPUP', updatedSince }]) {
        expect([request, (await list({ esimTranNo, ...request })).code]).toEqual([request, '000108'])
      }
    }
  })

  it('is refused with 310403 for an unknown or foreign eSIM, or if esimTranNo and iccid do not match', async () => {
    const stranger = await addDealer(bed.node.deps)
    const other = await bed.delivered()
    const { esimTranNo, iccid } = esim
    const code = async (request: object, of?: Dealer) => (await list({ type: 'TOPUP', ...request }, of)).code
    expect(await code({ esimTranNo: randomUUID() })).toBe('310403')
    expect(await code({ esimTranNo: 'no-uuid' })).toBe('310403')
    expect(await code({ iccid: makeIccid('8985000', 7) })).toBe('310403')
    expect(await code({ esimTranNo, iccid: other.iccid })).toBe('310403')
    for (const request of [{ esimTranNo }, { iccid }, { esimTranNo, iccid }]) {
      expect(await code(request)).toBe('000000')
      const theirs = await list({ type: 'TOPUP', ...request }, stranger)
      const absent = await list({ type: 'TOPUP', esimTranNo: randomUUID() }, stranger)
      const shown = ({ status, code, message }: typeof theirs) => ({ status, code, message })
      expect(shown(theirs)).toEqual({ ...shown(absent), code: '310403' })
    }
  })

  it.each([`esim_status = 'CANCEL'`, `esim_status = 'REVOKED'`, `esim_status = 'IN_USE', smdp_status = 'DELETED'`])(
    'is empty for an eSIM with %s',
    async (columns) => {
      await bed.set(esim, columns)
      const { code, data } = await list({ type: 'TOPUP', esimTranNo: esim.esimTranNo, pageSize: 1 })
      expect([code, data.packageList, data.nextCursor]).toEqual(['000000', [], null])
    },
  )

  it('is empty if the eSIM’s supplier does not support top-ups', async () => {
    Object.assign(bed.supplier.itself, { topUp: undefined })
    expect(await codesOf({ type: 'TOPUP', esimTranNo: esim.esimTranNo })).toEqual([])
  })
})

describe('package/list by trip requirements', () => {
  it('lists the packages that cover every country', async () => {
    expect(await codesOf({ coversAll: ['JP'], durationMin: 7 })).toEqual(BASES)
    expect(await codesOf({ coversAll: ['JP', 'FR'] })).toEqual([])
  })

  it.each([
    ['a country that does not exist', ['JP', 'XX'], 'coversAll[1]'],
    ['a region', ['!RG'], 'coversAll[0]'],
    ['no country', [], 'coversAll'],
    ['21 countries', Array(21).fill('JP'), 'coversAll'],
  ])('refuses %s with 000108', async (_what, coversAll, field) => {
    const { code, data } = await list({ coversAll })
    expect([code, data.details[0].field]).toEqual(['000108', field])
  })
})

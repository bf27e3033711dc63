import { ESIM_STATUSES, type Profile, type ProfileListRequest, SMDP_STATUSES } from '@dealer-esim/contract'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { insertProfiles } from '#esims/insert-profiles.ts'
import { listProfiles } from '#esims/list-profiles.ts'
import { createTestDatabase, type TestDatabase } from '../harness/databases/database.ts'
import { addPackage, addTenant, createShop, payOrders, type Shop } from '../harness/shop.ts'

let database: TestDatabase
let shop: Shop
let tenantId: string
let all: Profile[]
const SMDP = [undefined, ...SMDP_STATUSES]
/** The ICCIDs of all eSIMs: suppliers reuse them. */
const ICCIDS = 20

/** A dealer with an eSIM for each pair of statuses, and another dealer with the same statuses. */
beforeAll(async () => {
  database = await createTestDatabase()
  shop = await createShop(database.url)
  await addPackage(shop.db, 'JP', [])
  tenantId = await addTenant(shop.db)
  for (const owner of [tenantId, await addTenant(shop.db)]) await addEsims(owner)
  all = await pagesOf({ pageSize: 500 })
})
afterAll(async () => {
  await shop.close()
  await database.drop()
})

async function addEsims(owner: string): Promise<void> {
  const pairs = ESIM_STATUSES.flatMap((esimStatus) => SMDP.map((smdpStatus) => ({ esimStatus, smdpStatus })))
  const [orderId] = await payOrders(shop.db, owner, 'JP', { count: pairs.length })
  const delivered = pairs.map(({ esimStatus, smdpStatus }, index) => ({
    ...{ orderId: orderId!, itemNo: index + 1, supplier: 'stock', bought: undefined, isReported: false },
    esim: {
      iccid: `89852000000000000${String(index % ICCIDS).padStart(2, '0')}`,
      ...{ smdpAddress: 'smdp.test', matchingId: `M-${index}`, esimStatus },
      ...(smdpStatus && { smdpStatus }),
    },
  }))
  await shop.db.tx(async (tx) => insertProfiles(tx, shop, owner, delivered))
}

/** All pages of a list. */
async function pagesOf(request: ProfileListRequest): Promise<Profile[]> {
  const profiles: Profile[] = []
  let cursor: string | undefined
  do {
    const page = await listProfiles(shop, tenantId, { pageSize: 3, ...request, ...(cursor && { cursor }) })
    expect(page.profileList.length).toBeLessThanOrEqual(request.pageSize ?? 3)
    profiles.push(...page.profileList)
    cursor = page.nextCursor ?? undefined
  } while (cursor !== undefined)
  return profiles
}

const idsOf = (profiles: Profile[]) => profiles.map((profile) => profile.esimTranNo)

it('pages without a filter contain every eSIM once, newest first', async () => {
  expect(all).toHaveLength(ESIM_STATUSES.length * SMDP.length)
  expect(idsOf(await pagesOf({}))).toEqual(idsOf(all))
  expect(idsOf(all)).toEqual(idsOf(all).sort().reverse())
  expect(new Set(idsOf(all)).size).toBe(all.length)
})

it('a page contains a hundred eSIMs by default', async () => {
  const owner = await addTenant(shop.db)
  for (let order = 0; order < 3; order++) await addEsims(owner)
  const { profileList, nextCursor } = await listProfiles(shop, owner, {})
  expect(profileList).toHaveLength(100)
  const rest = await listProfiles(shop, owner, { cursor: nextCursor! })
  expect([rest.profileList.length, rest.nextCursor]).toEqual([3 * all.length - 100, null])
})

it.each(['esimStatus', 'smdpStatus'] as const)(
  'the pages for all values of %s together contain every eSIM',
  async (member) => {
    const values = member === 'esimStatus' ? ESIM_STATUSES : SMDP_STATUSES
    const found: string[] = []
    for (const value of values) {
      const own = idsOf(all.filter((profile) => profile[member] === value))
      expect(own.length).toBeGreaterThan(3) // more than one page
      expect([value, idsOf(await pagesOf({ [member]: value }))]).toEqual([value, own])
      found.push(...own)
    }
    const without = idsOf(all.filter((profile) => profile[member] === null))
    expect([...found, ...without].sort()).toEqual(idsOf(all).sort())
  },
)

it('pages can combine both status filters with other filters', async () => {
  const { orderNo, transactionId, iccid, createTime } = all[all.length >> 1]!
  const others: ProfileListRequest[] = [{}, { orderNo }, { transactionId }, { iccid }]
  const times: ProfileListRequest[] = [{}, { startTime: createTime }, { endTime: createTime }]
  const statuses: ProfileListRequest[] = [{}, { esimStatus: 'IN_USE' }, { esimStatus: 'IN_USE', smdpStatus: 'ENABLED' }]
  for (const other of others) {
    for (const time of times) {
      for (const status of statuses) {
        const request = { ...other, ...time, ...status }
        const own = idsOf(all.filter((profile) => matches(profile, request)))
        expect([request, idsOf(await pagesOf(request))]).toEqual([request, own])
      }
    }
  }
})

function matches(profile: Profile, { startTime, endTime, ...equal }: ProfileListRequest): boolean {
  if (startTime != null && profile.createTime < startTime) return false
  if (endTime != null && profile.createTime >= endTime) return false
  return Object.entries(equal).every(([member, value]) => profile[member as keyof Profile] === value)
}

it('an ICCID filter matches with and without F padding', async () => {
  for (const iccid of new Set(all.map((profile) => profile.iccid))) {
    const own = idsOf(all.filter((profile) => profile.iccid === iccid))
    expect(own.length).toBeGreaterThan(1)
    for (const pad of ['', 'F', 'f']) expect(idsOf(await pagesOf({ iccid: iccid + pad }))).toEqual(own)
  }
  expect(await pagesOf({ iccid: '8985200000000000099' })).toEqual([])
})

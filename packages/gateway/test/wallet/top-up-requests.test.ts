import sql from 'sql-template-tag'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Actor } from '#platform/audit/audit.ts'
import { getBalance } from '#wallet/ledger/balance.ts'
import { topUp } from '#wallet/ledger/top-up-wallet.ts'
import { OPEN_REQUESTS_MAX, requestTopUp } from '#wallet/requests/create-request.ts'
import { confirmTopUpRequest, declineTopUpRequest } from '#wallet/requests/decide-request.ts'
import { setPaymentSettings } from '#wallet/requests/payment-settings.ts'
import { getReceipt, RECEIPT_SIZE_MAX_BYTES } from '#wallet/requests/receipt.ts'
import { countOpenRequests, listTopUpRequests } from '#wallet/requests/top-up-request.ts'
import { ALICE, BOB, createWalletTestbed } from '../harness/wallets.ts'

const DEALER = { actor: 'person:dealer' as Actor }
const AMOUNT = 5_000_000n

let money: Awaited<ReturnType<typeof createWalletTestbed>>
beforeAll(async () => {
  money = await createWalletTestbed()
})
afterAll(() => money.close())

const request = (tenantId: string, reference = 'INV-1', amount = AMOUNT) =>
  requestTopUp(money.deps, { tenantId, amount, reference }, DEALER)
const confirm = (tenantId: string, requestId: string, by = ALICE) =>
  confirmTopUpRequest(money.deps, tenantId, requestId, by)
const decline = (tenantId: string, requestId: string, by = ALICE) =>
  declineTopUpRequest(money.deps, { tenantId, requestId, reason: 'no payment arrived' }, by)
const balanceOf = async (tenantId: string) => (await getBalance(money.db, tenantId)).balance
const alertsOf = (tenantId: string) =>
  money.db.query<{ kind: string; audience: string }>(sql`
    select kind, audience from alerts where tenant_id = ${tenantId} order by alert_id`)
const setLimit = (currencyCode: string, secondPersonAbove: bigint | null) =>
  setPaymentSettings(money.deps, { currencyCode, bankDetails: null, paymentUrl: null, secondPersonAbove }, ALICE)

test('a request moves no money, and a repeated request returns the first one', async () => {
  const { tenantId } = await money.tenant()
  const [first, second] = await Promise.all([request(tenantId), request(tenantId)])
  expect(first).toMatchObject({ status: 'REQUESTED', amount: AMOUNT, decidedBy: null, hasReceipt: false })
  expect(second.requestId).toBe(first.requestId)
  expect(await balanceOf(tenantId)).toBe(0)
  expect(await alertsOf(tenantId)).toEqual([{ kind: 'TOP_UP_REQUESTED', audience: 'OPERATOR' }])
  await expect(request(tenantId, 'INV-1', 1n)).rejects.toMatchObject({ code: 'REFERENCE_USED' })
})

test('a confirmed request posts one top-up with its reference, and notifies the dealer', async () => {
  const { tenantId } = await money.tenant()
  const { requestId } = await request(tenantId)
  const paid = await confirm(tenantId, requestId)
  expect(paid).toMatchObject({ status: 'PAID', decidedBy: 'cli:alice', walletVersion: 1n, confirmedBy: null })
  expect(await confirm(tenantId, requestId, BOB)).toEqual(paid)
  expect(await balanceOf(tenantId)).toBe(Number(AMOUNT))
  const rows = await money.db.query(sql`
    select kind, reference, amount from transfers where tenant_id = ${tenantId}`)
  expect(rows).toEqual([{ kind: 'TOP_UP', reference: 'INV-1', amount: AMOUNT }])
  expect((await alertsOf(tenantId)).map(({ kind }) => kind)).toEqual(['TOP_UP_REQUESTED', 'TOP_UP_PAID'])
})

test('twenty concurrent confirmations by two operators post the payment once', async () => {
  const { tenantId } = await money.tenant()
  const { requestId } = await request(tenantId)
  const answers = await Promise.all(
    Array.from({ length: 20 }, (_, n) => confirm(tenantId, requestId, n % 2 ? ALICE : BOB)),
  )
  for (const answer of answers) expect(answer).toMatchObject({ status: 'PAID', walletVersion: 1n })
  expect(await balanceOf(tenantId)).toBe(Number(AMOUNT))
  expect((await alertsOf(tenantId)).filter(({ kind }) => kind === 'TOP_UP_PAID')).toHaveLength(1)
})

test('of concurrent confirmations and declines, only one decision takes effect', async () => {
  for (let round = 0; round < 5; round++) {
    const { tenantId } = await money.tenant()
    const { requestId } = await request(tenantId)
    const outcomes = await Promise.allSettled([
      confirm(tenantId, requestId),
      decline(tenantId, requestId, BOB),
      confirm(tenantId, requestId, BOB),
    ])
    const decided = new Set(outcomes.flatMap((one) => (one.status === 'fulfilled' ? [one.value.status] : [])))
    expect(decided.size).toBe(1)
    expect(await balanceOf(tenantId)).toBe(decided.has('PAID') ? Number(AMOUNT) : 0)
  }
})

test('a payment that an operator has credited directly is not credited again', async () => {
  const { tenantId } = await money.tenant()
  const { requestId } = await request(tenantId)
  const [paid] = await Promise.all([
    confirm(tenantId, requestId),
    topUp(money.deps, { tenantId, amount: AMOUNT, reference: 'INV-1' }, BOB),
  ])
  expect(paid).toMatchObject({ status: 'PAID', walletVersion: 1n })
  expect(await balanceOf(tenantId)).toBe(Number(AMOUNT))
})

test('a reference already credited with a different amount is not confirmed', async () => {
  const { tenantId } = await money.tenant()
  const { requestId } = await request(tenantId)
  await topUp(money.deps, { tenantId, amount: 1n, reference: 'INV-1' }, BOB)
  await expect(confirm(tenantId, requestId)).rejects.toMatchObject({ code: 'REFERENCE_USED' })
  expect(await decline(tenantId, requestId)).toMatchObject({ status: 'DECLINED' })
  expect(await balanceOf(tenantId)).toBe(1)
})

test('a declined request is not confirmed, shows its reason and releases its reference', async () => {
  const { tenantId } = await money.tenant()
  const { requestId } = await request(tenantId)
  const declined = await decline(tenantId, requestId)
  expect(declined).toMatchObject({ status: 'DECLINED', declineReason: 'no payment arrived', walletVersion: null })
  expect(await decline(tenantId, requestId)).toEqual(declined)
  await expect(confirm(tenantId, requestId)).rejects.toMatchObject({ code: 'REQUEST_DECIDED' })
  const again = await request(tenantId)
  expect(again.requestId).not.toBe(requestId)
  await confirm(tenantId, again.requestId)
  await expect(decline(tenantId, again.requestId)).rejects.toMatchObject({ code: 'REQUEST_DECIDED' })
  expect(await balanceOf(tenantId)).toBe(Number(AMOUNT))
})

test('a payment above the threshold for its currency is posted only when a second person confirms it', async () => {
  await setLimit('CHF', AMOUNT - 1n)
  const { tenantId } = await money.tenant('CHF')
  const { requestId } = await request(tenantId)
  expect(await confirm(tenantId, requestId)).toMatchObject({ status: 'REQUESTED', confirmedBy: 'cli:alice' })
  expect(await balanceOf(tenantId)).toBe(0)
  const alone = Array.from({ length: 5 }, () => confirm(tenantId, requestId))
  for (const one of await Promise.allSettled(alone))
    expect(one).toMatchObject({ status: 'rejected', reason: { code: 'SECOND_PERSON_NEEDED' } })
  expect(await balanceOf(tenantId)).toBe(0)
  const paid = await confirm(tenantId, requestId, BOB)
  expect(paid).toMatchObject({ status: 'PAID', confirmedBy: 'cli:alice', decidedBy: 'person:bob' })
  expect(await balanceOf(tenantId)).toBe(Number(AMOUNT))

  await setLimit('CHF', AMOUNT)
  const small = await request(tenantId, 'INV-2')
  expect(await confirm(tenantId, small.requestId)).toMatchObject({ status: 'PAID', confirmedBy: null })
})

test('the first confirmation of a large payment counts for a week', async () => {
  await setLimit('SEK', 0n)
  const { tenantId } = await money.tenant('SEK')
  const { requestId } = await request(tenantId)
  await confirm(tenantId, requestId)
  await money.db.query(sql`
    update top_up_requests set confirmed_at = now() - interval '8 days' where request_id = ${requestId}`)
  expect(await confirm(tenantId, requestId, BOB)).toMatchObject({ status: 'REQUESTED', confirmedBy: 'person:bob' })
  expect(await confirm(tenantId, requestId)).toMatchObject({ status: 'PAID', confirmedBy: 'person:bob' })
})

test('a dealer cannot have more open requests than the limit, even with simultaneous calls', async () => {
  const { tenantId } = await money.tenant()
  const asked = Array.from({ length: OPEN_REQUESTS_MAX + 3 }, (_, n) => request(tenantId, `INV-${n}`))
  const outcomes = await Promise.allSettled(asked)
  expect(outcomes.filter((one) => one.status === 'fulfilled')).toHaveLength(OPEN_REQUESTS_MAX)
  const open = await listTopUpRequests(money.db, { tenantId, status: 'REQUESTED', limit: 100 })
  expect(open).toHaveLength(OPEN_REQUESTS_MAX)
  const before = await countOpenRequests(money.db)
  await decline(tenantId, open[0]!.requestId)
  expect(await countOpenRequests(money.db)).toBe(before - 1)
  await request(tenantId, 'INV-NEXT')
})

const PNG = Buffer.concat([Buffer.from('89504e470d0a1a0a', 'hex'), Buffer.alloc(100, 1)])

test('a receipt is stored unchanged, under a plain name whose extension matches the content', async () => {
  const { tenantId } = await money.tenant()
  const receipt = { fileName: '../Café "May".html', content: PNG.toString('base64') }
  const { requestId, hasReceipt } = await requestTopUp(
    money.deps,
    { tenantId, amount: 1n, reference: 'R', receipt },
    DEALER,
  )
  expect(hasReceipt).toBe(true)
  expect(await getReceipt(money.db, tenantId, requestId)).toEqual({
    fileName: 'Cafe-May.png',
    mediaType: 'image/png',
    content: PNG,
  })
  const other = await money.tenant()
  await expect(getReceipt(money.db, other.tenantId, requestId)).rejects.toMatchObject({ status: 404 })
})

test.each([
  ['a page', Buffer.from('<!doctype html><script>alert(1)</script>').toString('base64')],
  ['a picture with scripts', Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('base64')],
  ['an empty file', ''],
  ['something that is not Base64', 'AAAA*'],
  ['a file that is too large', Buffer.concat([PNG, Buffer.alloc(RECEIPT_SIZE_MAX_BYTES)]).toString('base64')],
])('%s is not accepted as a receipt', async (_, content) => {
  const { tenantId } = await money.tenant()
  const receipt = { fileName: 'receipt.pdf', content }
  const asking = requestTopUp(money.deps, { tenantId, amount: 1n, reference: 'R', receipt }, DEALER)
  await expect(asking).rejects.toMatchObject({ code: 'RECEIPT_INVALID' })
  expect(await listTopUpRequests(money.db, { tenantId, limit: 1 })).toEqual([])
})

test.each(['http://pay.test/', 'javascript:alert(1)', 'https://user:pw@pay.test/', 'pay.test'])(
  'the payment link %s is refused',
  async (paymentUrl) => {
    const input = { currencyCode: 'EUR', bankDetails: null, paymentUrl, secondPersonAbove: null }
    await expect(setPaymentSettings(money.deps, input, ALICE)).rejects.toMatchObject({ code: 'SETTING_INVALID' })
  },
)

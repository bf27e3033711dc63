import { randomUUID } from 'node:crypto'
import { PassThrough } from 'node:stream'
import { setTimeout as delay } from 'node:timers/promises'
import { createMailServer, type MailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { createLog } from '@dealer-esim/lib/telemetry/json-log.ts'
import { afterAll, beforeAll, beforeEach, expect, it, onTestFinished, vi } from 'vitest'
import { sendDueMails } from '#alerts/mail/send-mail.ts'
import type { Deps } from '#deps.ts'
import { searchProfiles } from '#esims/search-profiles.ts'
import { queueDeliveries } from '#esims/sends/delivery-loop.ts'
import { markOpened } from '#esims/sends/mark-opened.ts'
import { sendEsim } from '#esims/sends/send-esim.ts'
import { SENDS_PER_RECIPIENT_MAX } from '#orders/recipient-limit.ts'
import { enforceRetention } from '#platform/retention/retention-loop.ts'
import { addDealer, type Dealer, OPERATOR } from '#test/harness/api-node.ts'
import { diedOnly, dyingDb } from '#test/harness/databases/dying-db.ts'
import { type SmtpReceiver, startSmtpReceiver } from '#test/harness/servers/smtp-receiver.ts'
import { createTopUpTestbed, type Esim, type TopUpTestbed } from '#test/orders/topups/topup-testbed.ts'

/* What is sent to travellers, on two nodes with a mail server. */
const EMAIL = 'mei.tanaka@traveller.test'
const NAME = 'Mei Tanaka'

let bed: TopUpTestbed
let smtp: SmtpReceiver
let server: MailServer
let esim: Esim
let logged = ''

beforeAll(async () => {
  const lines = new PassThrough()
  lines.on('data', (text: string) => (logged += text))
  bed = await createTopUpTestbed(2, { log: createLog('debug', lines) })
  smtp = await startSmtpReceiver()
  server = createMailServer(smtp.url)
  for (const { deps } of bed.nodes) Object.assign(deps.config, { smtpUrl: smtp.url, mailFrom: 'esim@gateway.test' })
})
afterAll(async () => {
  server.close()
  await bed.close()
  await smtp.close()
})
beforeEach(async () => {
  smtp.mails.length = 0
  smtp.refusals = {}
  // Those of earlier tests count towards the limits.
  await query('delete from mails')
  await query('delete from esim_sends')
  esim = await bed.delivered()
})

const query = <Row>(text: string, ...values: unknown[]) => bed.node.deps.db.query<Row & object>({ text, values })
const send = (body: object, node = bed.node) => bed.json(bed.dealer, 'esim/profile/send', body, node)
const to = (more: object = {}) => ({ transactionId: randomUUID(), esimTranNo: esim.esimTranNo, email: EMAIL, ...more })
const statusOf = async (transactionId: string) =>
  (
    await query<{ status: string }>(
      'select send_status as status from esim_sends where transaction_id = $1',
      transactionId,
    )
  )[0]?.status

const mailDepsOf = (deps: Deps) => ({ ...deps, mailServer: server, consoleUrl: () => 'http://console.test' })
const linkOf = (generation = 0) => ({ tenantId: bed.dealer.tenantId, profileId: esim.esimTranNo, generation })

/** Both nodes send what is due, simultaneously, until nothing is. */
async function deliver(): Promise<void> {
  for (;;) {
    await Promise.all(bed.nodes.map(({ deps }) => queueDeliveries(deps)))
    const passes = await Promise.all(bed.nodes.map(({ deps }) => sendDueMails(mailDepsOf(deps))))
    if (passes.every(({ outcomes }) => outcomes.length === 0)) return
  }
}

it('fifty simultaneous sends with one transactionId over two nodes are one send and one mail', async () => {
  const body = to({ name: NAME })
  // A node that is too busy says so, and its caller repeats the call.
  const answered = (index: number): ReturnType<typeof send> =>
    send(body, bed.nodes[index % 2]).then((answer) => (answer.code === '000002' ? answered(index) : answer))
  const answers = await Promise.all(Array.from({ length: 50 }, (_, index) => answered(index)))
  expect(new Set(answers.map(({ code }) => code))).toEqual(new Set(['000000']))
  expect(new Set(answers.map(({ data }) => JSON.stringify({ ...data, requestId: '' }))).size).toBe(1)
  await deliver()
  expect(smtp.mails.map((mail) => mail.to)).toEqual([EMAIL])
  expect(smtp.mails[0]!.text).toContain((await bed.profile(esim)).shareUrl)
  expect(smtp.mails[0]!.text).toContain(`Hello ${NAME},`)
  const replayed = await send(body)
  expect(replayed.data).toMatchObject({ sendNo: answers[0]!.data.sendNo, sendStatus: 'SENT' })
  await deliver()
  expect(smtp.mails).toHaveLength(1)
})

it('content is the eSIM and the address, in one namespace with orders and actions', async () => {
  const body = to()
  const first = await send(body)
  expect((await send({ ...body, name: NAME, language: 'ja' })).data).toEqual(first.data)
  const { transactionId, esimTranNo } = body
  for (const [operation, other] of [
    ['esim/profile/send', { ...body, email: 'other@traveller.test' }],
    ['esim/profile/send', { ...body, esimTranNo: (await bed.delivered()).esimTranNo }],
    ['esim/order', { transactionId, packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }],
    ['esim/topup', { transactionId, packageCode: 'JP_1_7_TOPUP', esimTranNo }],
    ['esim/cancel', { transactionId, action: 'CANCEL', esimTranNo }],
  ] as const)
    expect([operation, (await bed.json(bed.dealer, operation, other)).code]).toEqual([operation, '200012'])
  // The node has cached the wallet since the send, so it places an order without reading first. Once a cached wallet was outdated,
  // it reads first for a second.
  const later = to()
  await send(later)
  await bed.delivered()
  await delay(1_100)
  await bed.delivered()
  const line = { packageInfoList: [{ packageCode: 'JP_1_7', count: 1 }] }
  expect((await bed.json(bed.dealer, 'esim/order', { transactionId: later.transactionId, ...line })).code).toBe(
    '200012',
  )
  const taken = { order: randomUUID(), topUp: randomUUID() }
  await bed.json(bed.dealer, 'esim/order', { transactionId: taken.order, ...line })
  await bed.topUp(esim, { transactionId: taken.topUp })
  await bed.order(bed.dealer, taken.topUp, 'DELIVERED')
  for (const [what, used] of Object.entries(taken))
    expect([what, (await send(to({ transactionId: used }))).code]).toEqual([what, '200012'])
  expect((await send(body)).data).toMatchObject({ sendNo: first.data.sendNo })
})

it('of another dealer, no eSIM is sent, and a transactionId says nothing', async () => {
  const other = await addDealer(bed.node.deps)
  const own = await bed.delivered('JP_1_7', other)
  const body = to()
  const first = await send(body)
  for (const foreign of [{ esimTranNo: esim.esimTranNo }, { esimTranNo: undefined, iccid: esim.iccid }])
    expect((await bed.json(other, 'esim/profile/send', to(foreign))).code).toBe('310403')
  const sameId = { ...body, esimTranNo: own.esimTranNo }
  const second = await bed.json(other, 'esim/profile/send', sameId)
  expect(second).toMatchObject({ code: '000000', data: { esimTranNo: own.esimTranNo } })
  expect(second.data.sendNo).not.toBe(first.data.sendNo)
  await deliver()
  expect(smtp.mails).toHaveLength(2)
  const { sendList } = (await bed.json(other, 'esim/query', { orderNo: own.orderNo })).data
  expect(sendList).toMatchObject([{ sendNo: second.data.sendNo, sendStatus: 'SENT' }])
  const markOf = ({ tenantId }: Dealer) => markOpened(bed.node.deps.db, { ...linkOf(), tenantId })
  await markOf(other)
  expect((await send(body)).data.sendStatus).toBe('SENT')
})

it('a send is refused in the order of its checks, and a refused one leaves no trace', async () => {
  const unknown = { esimTranNo: randomUUID(), brand: 'harbour' }
  expect((await send(to(unknown))).code).toBe('310403')
  expect((await send(to({ brand: 'harbour' }))).data).toMatchObject({ brand: 'harbour' })
  for (const malformed of [{ email: 'no address' }, { language: 'en-' }, { brand: 'UPPER' }, { email: undefined }])
    expect((await send(to(malformed))).code).toMatch(/^00010[58]$/)
  await bed.set(esim, `smdp_status = 'INSTALLATION'`)
  const body = to()
  expect(await send(body)).toMatchObject({ code: '200002', data: { smdpStatus: 'INSTALLATION', actionNo: null } })
  await bed.set(esim, `smdp_status = 'RELEASED'`)
  expect((await send(body)).code).toBe('000000')
  for (let sent = 1; sent < SENDS_PER_RECIPIENT_MAX; sent++) expect((await send(to())).code).toBe('000000')
  const refused = to()
  expect((await send(refused)).code).toBe('101007')
  expect(await statusOf(refused.transactionId)).toBeUndefined()
  expect((await send(body)).code).toBe('000000')
})

it('with onlyUnsent, two people’s lists do not give one eSIM to two travellers', async () => {
  const { tenantId } = bed.dealer
  const list = (body: ReturnType<typeof to>, node = bed.node) =>
    sendEsim(node.deps, tenantId, { ...body, onlyUnsent: true }, OPERATOR)
  const found = async () =>
    (await searchProfiles(bed.node.deps.db, { tenantId, profileId: esim.esimTranNo }, { limit: 1 })).profiles[0]
  expect(await found()).toMatchObject({ sendStatus: null, isSent: false })
  const bodies = [to({ email: 'mei@traveller.test' }), to({ email: 'li@traveller.test' })]
  const sent = await Promise.allSettled(bodies.map((body, index) => list(body, bed.nodes[index])))
  const first = sent.findIndex(({ status }) => status === 'fulfilled')
  expect(sent[1 - first]).toMatchObject({ status: 'rejected', reason: { status: 409, code: 'ALREADY_SENT' } })
  expect(await list(bodies[first]!)).toMatchObject({ isReplay: true })
  await query(`update esim_sends set send_status = 'FAILED'`)
  expect(await found()).toMatchObject({ sendStatus: 'FAILED', isSent: false })
  expect(await list(to())).toMatchObject({ isReplay: false, answer: { sendStatus: 'QUEUED' } })
  await expect(list(to())).rejects.toMatchObject({ code: 'ALREADY_SENT' })
  // A person who sends it again from its own page wants to. If that fails, the first traveller still has it.
  const again = to()
  expect((await sendEsim(bed.node.deps, tenantId, again, OPERATOR)).isReplay).toBe(false)
  await query(`update esim_sends set send_status = 'FAILED' where transaction_id = $1`, again.transactionId)
  expect(await found()).toMatchObject({ sendStatus: 'FAILED', isSent: true })
  // That of an order counts before its e-mail is queued.
  const transactionId = randomUUID()
  const line = { packageCode: 'JP_1_7', count: 1, deliverTo: { email: EMAIL } }
  await bed.json(bed.dealer, 'esim/order', { transactionId, packageInfoList: [line] })
  await bed.order(bed.dealer, transactionId, 'DELIVERED')
  const { profileList } = (await bed.json(bed.dealer, 'esim/query', { transactionId })).data
  const { esimTranNo } = profileList[0]
  await expect(list(to({ esimTranNo }))).rejects.toMatchObject({ code: 'ALREADY_SENT' })
})

it('an order is sent once its eSIM is there, once, and a repeat neither changes nor repeats it', async () => {
  const transactionId = randomUUID()
  const line = { packageCode: 'JP_1_7', count: 1, deliverTo: { email: EMAIL, name: NAME } }
  const order = (more: object = {}) =>
    bed.json(bed.dealer, 'esim/order', { transactionId, packageInfoList: [{ ...line, ...more }] })
  expect((await order({ count: 2 })).code).toBe('000108')
  expect((await order({ brand: 'harbour' })).code).toBe('200018')
  expect((await order()).code).toBe('000000')
  expect((await order({ deliverTo: { email: 'other@traveller.test' } })).code).toBe('000000')
  await bed.order(bed.dealer, transactionId, 'DELIVERED')
  await deliver()
  await deliver()
  expect(smtp.mails.map((mail) => mail.to)).toEqual([EMAIL])
  const { data } = await bed.json(bed.dealer, 'esim/query', { transactionId })
  expect(data.sendList).toEqual([
    {
      ...{ sendNo: expect.any(String), transactionId: null, esimTranNo: data.profileList[0].esimTranNo },
      ...{ sendStatus: 'SENT', createTime: expect.any(String), lastUpdateTime: expect.any(String) },
    },
  ])
  expect(await query('select share_generation from esim_sends')).toEqual([{ shareGeneration: 0 }]) // the link in the mail
})

it('a node that dies at any statement of sending loses nothing, and a repeat sends nothing again', async () => {
  const { deps } = bed.node
  for (let at = 1; ; at++) {
    smtp.mails.length = 0
    const body = to({ email: `traveller-${at}@traveller.test` })
    const dying = dyingDb(deps.db, at)
    await sendEsim({ ...deps, db: dying.db }, bed.dealer.tenantId, body).catch(diedOnly)
    // A caller that gets no answer repeats the call.
    expect((await send(body, bed.nodes[1])).code).toBe('000000')
    await deliver()
    expect([at, smtp.mails.map((mail) => mail.to)]).toEqual([at, [body.email]])
    expect((await send(body)).data.sendStatus).toBe('SENT')
    if (!dying.isDead()) return expect(at).toBeGreaterThan(6)
  }
})

it('a node that dies at any statement of delivering an order loses nothing, and each send has one Message-ID', async () => {
  const { deps } = bed.node
  for (let at = 1; ; at++) {
    smtp.mails.length = 0
    const [transactionId, email] = [randomUUID(), `traveller-${at}@traveller.test`]
    const line = { packageCode: 'JP_1_7', count: 1, deliverTo: { email } }
    await bed.json(bed.dealer, 'esim/order', { transactionId, packageInfoList: [line] })
    await bed.order(bed.dealer, transactionId, 'DELIVERED')
    const dying = dyingDb(deps.db, at)
    const dies = { ...mailDepsOf(deps), db: dying.db }
    await queueDeliveries(dies).catch(diedOnly)
    await sendDueMails(dies).catch(diedOnly)
    await query(`update mails set lease_until = now() - interval '1 hour' where lease_until is not null`)
    await deliver()
    // A mail server cannot say whether it took a mail before: the second one is the same mail by its Message-ID.
    expect([at, new Set(smtp.mails.map((mail) => mail.messageId)).size]).toEqual([at, 1])
    expect(new Set(smtp.mails.map((mail) => mail.to))).toEqual(new Set([email]))
    const { sendList } = (await bed.json(bed.dealer, 'esim/query', { transactionId })).data
    expect(sendList).toMatchObject([{ sendStatus: 'SENT' }])
    if (!dying.isDead()) return expect(at).toBeGreaterThan(4)
  }
})

it('a mail server that takes longer than a lease gets each mail once, from two nodes', async () => {
  const addresses = Array.from({ length: 6 }, (_, index) => `traveller-${index}@traveller.test`)
  for (const email of addresses) await send(to({ email }))
  let answer = () => {}
  smtp.answersAfter = new Promise((resolve) => (answer = resolve))
  vi.useFakeTimers({ toFake: ['setInterval', 'clearInterval'] })
  const ofOther = createMailServer(smtp.url)
  onTestFinished(() => {
    vi.useRealTimers()
    smtp.answersAfter = undefined
    answer()
    ofOther.close()
  })
  const [one, other] = bed.nodes.map(({ deps }) => mailDepsOf(deps))
  const passes = [sendDueMails(one!)]
  await expect.poll(() => smtp.mails.length).toBe(2)
  for (let minute = 0; minute < 4; minute++) {
    await query(`update mails set lease_until = lease_until - interval '1 minute'`)
    await vi.advanceTimersByTimeAsync(60_000)
    const ending = `select from mails where lease_until < now() + interval '90 seconds' and attempts > 0`
    await expect.poll(() => query(ending)).toEqual([])
  }
  passes.push(sendDueMails({ ...other!, mailServer: ofOther }))
  await expect.poll(() => smtp.mails.length).toBe(4)
  answer()
  await Promise.all(passes)
  await deliver()
  expect(smtp.mails.map((mail) => mail.to).sort()).toEqual(addresses)
})

it('an address that the mail server refuses is shown as FAILED, and its answer is stored without the address', async () => {
  smtp.refusals = { rcpt: `550 5.1.1 <${EMAIL}>: user mei.tanaka unknown` }
  const body = to()
  await send(body)
  await deliver()
  expect((await send(body)).data.sendStatus).toBe('FAILED')
  const [mail] = await query<{ failure: string }>('select failure from mails')
  expect(mail!.failure).toContain('[recipient]')
  expect(mail!.failure).not.toMatch(/mei|tanaka|traveller/i)
})

it('a sent link that is opened says so, and one that is still to be sent does not', async () => {
  const body = to()
  await send(body)
  const opened = linkOf()
  await markOpened(bed.node.deps.db, opened)
  expect((await send(body)).data.sendStatus).toBe('QUEUED')
  await deliver()
  await markOpened(bed.node.deps.db, opened)
  expect((await send(body)).data.sendStatus).toBe('OPENED')
})

it('an opened page counts for the newest e-mail with its link', async () => {
  const { db } = bed.node.deps
  const [typo, corrected, renewed] = [to({ email: 'mej@traveller.test' }), to(), to()]
  const statuses = async () =>
    Promise.all([typo, corrected, renewed].map(({ transactionId }) => statusOf(transactionId)))
  for (const body of [typo, corrected]) await send(body)
  await deliver()
  for (let times = 0; times < 2; times++) await markOpened(db, linkOf())
  expect(await statuses()).toEqual(['SENT', 'OPENED', undefined])
  // Nobody was sent the renewed link yet.
  await query('update profiles set share_generation = 1 where profile_id = $1', esim.esimTranNo)
  await query(`update esim_sends set send_status = 'SENT'`)
  await markOpened(db, linkOf(1))
  expect(await statuses()).toEqual(['SENT', 'SENT', undefined])
  await send(renewed)
  await deliver()
  await markOpened(db, linkOf(1))
  expect(await statuses()).toEqual(['SENT', 'SENT', 'OPENED'])
  // An e-mail of an earlier release does not say which link it had.
  await query(`update esim_sends set send_status = 'SENT', share_generation = null`)
  await markOpened(db, linkOf(1))
  expect(await statuses()).toEqual(['SENT', 'SENT', 'OPENED'])
})

it('an address gets five e-mails a day, by orders or afterwards, and an order with a further one buys nothing', async () => {
  const line = (email: string, packageCode = 'JP_1_7') => ({ packageCode, count: 1, deliverTo: { email } })
  const order = (lines: object[], index = 0) => {
    const body = { transactionId: randomUUID(), packageInfoList: lines }
    return bed.json(bed.dealer, 'esim/order', body, bed.nodes[index % 2])
  }
  const balance = async () => (await bed.json(bed.dealer, 'account/balance', {})).data.balance
  const codes = await Promise.all([
    ...Array.from({ length: 5 }, (_, index) => order([line(EMAIL)], index)),
    ...Array.from({ length: 5 }, (_, index) => send(to(), bed.nodes[index % 2])),
  ])
  expect(codes.map(({ code }) => code).sort()).toEqual([...Array(5).fill('000000'), ...Array(5).fill('101007')])
  const before = await balance()
  expect(await order([line(EMAIL.toUpperCase())])).toMatchObject({ code: '101007' })
  expect(await order([line('other@traveller.test'), line(EMAIL, 'JP_DAY_1')])).toMatchObject({ code: '101007' })
  expect(await balance()).toBe(before)
  expect((await send(to())).code).toBe('101007')
  expect((await order([{ packageCode: 'JP_1_7', count: 1 }, line('other@traveller.test', 'JP_DAY_1')])).code).toBe(
    '000000',
  )
  // An order whose eSIM never came has sent none.
  await query(`update esim_sends set send_status = 'FAILED', profile_id = null`)
  expect((await order([line(EMAIL)])).code).toBe('000000')
})

it('sendList has the e-mail of an order once its eSIM is there, which fails and sends nothing if it has ended', async () => {
  const transactionId = randomUUID()
  const line = { packageCode: 'JP_1_7', count: 1, deliverTo: { email: EMAIL } }
  await bed.json(bed.dealer, 'esim/order', { transactionId, packageInfoList: [line] })
  const listOf = async () => (await bed.json(bed.dealer, 'esim/query', { transactionId })).data
  await bed.order(bed.dealer, transactionId, 'DELIVERED')
  const { sendList, profileList } = await listOf()
  expect(sendList).toMatchObject([{ esimTranNo: profileList[0].esimTranNo, sendStatus: 'QUEUED', transactionId: null }])
  await bed.set({ ...esim, esimTranNo: profileList[0].esimTranNo }, `esim_status = 'CANCEL'`)
  await deliver()
  expect(smtp.mails).toEqual([])
  expect((await listOf()).sendList).toMatchObject([
    { ...sendList[0], sendStatus: 'FAILED', lastUpdateTime: expect.any(String) },
  ])
})

it('no plain column, event or log has a name or an address, and after the retention nothing has', async () => {
  const body = to({ name: NAME })
  await send(body)
  await deliver()
  const line = { packageCode: 'JP_1_7', count: 1, deliverTo: { email: EMAIL, name: NAME } }
  await bed.json(bed.dealer, 'esim/order', { transactionId: 'with-traveller', packageInfoList: [line] })
  await bed.order(bed.dealer, 'with-traveller', 'DELIVERED')
  smtp.refusals = { rcpt: `550 5.1.1 <${EMAIL}>: user mei.tanaka unknown` }
  await deliver()
  expect(logged).toContain('[recipient]')
  expect(logged).not.toMatch(/mei\.tanaka|Mei Tanaka/i)
  const tables = await query<{ name: string }>(
    `select c.relname as name from pg_class c
     where c.relkind in ('r', 'p') and c.relnamespace = current_schema()::regnamespace and not c.relispartition`,
  )
  for (const { name } of tables) {
    const found = await query(`select from "${name}" t where t::text ~* 'mei\\.tanaka|Mei Tanaka'`)
    expect([name, found.length]).toEqual([name, 0])
  }
  await query(`update esim_sends set created_at = created_at - interval '91 days'`)
  await enforceRetention({ ...bed.node.deps, config: { travellerDays: 90 } })
  const forgotten = { traveller: null, recipientHash: null }
  expect(await query('select traveller, recipient_hash from esim_sends')).toEqual([forgotten, forgotten])
  expect(await query('select from mails where content is not null')).toEqual([])
  // The transactionId counts forever: it sends nothing again.
  expect((await send(body)).data.sendStatus).toBe('SENT')
})

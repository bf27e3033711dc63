import { afterAll, beforeAll, describe, expect, it } from 'vitest'
import { createAlert } from '#alerts/create-alert.ts'
import { queueAlertMails } from '#alerts/mail/queue-alerts.ts'
import { SYSTEM } from '#platform/audit/audit.ts'
import { setOperatorSettings } from '#platform/deployment/operator-options.ts'
import {
  addPerson,
  addTenant,
  browser,
  type ConsoleTestbed,
  REAUTHENTICATION,
  signedInAs,
  startConsole,
} from '#test/http/console/console-testbed.ts'

let testbed: ConsoleTestbed
let tenantId: string
beforeAll(async () => {
  testbed = await startConsole({ config: { smtpUrl: 'smtp://mail.test', operatorEmails: [] } })
  tenantId = await addTenant(testbed, 'Lotus Travel')
  const message = 'The balance is 3.00 USD, below the threshold of 5.00 USD. Top up to continue selling.'
  await testbed.db.tx(async (tx) => {
    const alert = { tenantId, kind: 'LOW_BALANCE' } as const
    createAlert(tx, testbed.deps.ids, { ...alert, message })
  })
})
afterAll(() => testbed.stop())

const CHINESE = 'zh-CN,zh;q=0.9,en;q=0.8'

async function mailTo(recipient: string): Promise<{ subject: string; text: string; html: string }> {
  const [mail] = await testbed.db.query<{ tenantId: string; content: Buffer }>({
    text: 'select tenant_id, content from mails where recipient = $1 order by mail_id desc limit 1',
    values: [recipient],
  })
  return JSON.parse(testbed.deps.cipher.decrypt(mail!.content, mail!.tenantId).toString())
}

async function choose(email: string, language: string, timeZone: string | null = null): Promise<void> {
  await testbed.db.query({
    text: 'update people set language = $2, time_zone = $3, last_sign_in_at = now() where email = $1',
    values: [email, language, timeZone],
  })
}

describe('the console API answers in the language of Accept-Language', () => {
  it.each([
    [undefined, 'The e-mail address or password is wrong. Check both and try again.'],
    [CHINESE, '邮箱地址或密码错误。请检查后重试。'],
    ['fr', 'The e-mail address or password is wrong. Check both and try again.'],
  ])('a refusal, for %s', async (language, message) => {
    const window = browser(testbed.app)
    if (language) window.headers['accept-language'] = language
    const { body } = await window.signIn('nobody@people.test')
    expect(body).toMatchObject({ code: 'SIGN_IN_FAILED', message })
  })

  it('the reasons of a refused body, whose names of members stay', async () => {
    const window = browser(testbed.app)
    window.headers['accept-language'] = CHINESE
    const { body } = await window.call('POST', '/session', { email: 'a@people.test' })
    expect(body.code).toBe('REQUEST_INVALID')
    expect(body.message).toMatch(/^请求不符合文档规定的格式：.+。$/)
    expect(body.data.members).toEqual([{ member: 'password', reason: '缺失' }])
  })

  it('the faults of an imported file, whose names of columns stay', async () => {
    const operator = await signedInAs(testbed, 'OPERATOR_STAFF')
    Object.assign(operator.headers, { 'accept-language': CHINESE, 'content-type': 'text/csv' })
    const file = Buffer.from('packageCode,durationUnit\nJP_1_7,CENTURY\n')
    const { errors } = (await operator.call('POST', '/packages/import?dryRun=true', file)).body
    const cell = { row: 2, column: 'durationUnit', packageCode: 'JP_1_7', value: 'CENTURY' }
    expect(errors).toContainEqual({ ...cell, reason: '请使用 DAY。' })
  })

  it('the message of an alert, which stays English in the database', async () => {
    const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
    const { notices } = (await dealer.call('GET', '/notices')).body
    expect(notices).toMatchObject([{ message: expect.stringMatching(/^The balance is 3\.00 USD/) }])
    dealer.window.headers['accept-language'] = CHINESE
    const translated = (await dealer.call('GET', '/notices')).body
    expect(translated.notices).toMatchObject([{ message: '余额为 3.00 USD，低于阈值 5.00 USD。请充值以继续销售。' }])
  })
})

it('the console API says in the reader’s language why a dealer’s requests need a signature', async () => {
  const operator = await signedInAs(testbed, 'OPERATOR_ADMIN')
  operator.window.headers['accept-language'] = CHINESE
  const { unsignedFault } = (await operator.call('GET', `/tenants/${tenantId}`)).body
  expect(unsignedFault).toMatch(/^未签名请求需要/)
})

describe('a mail is in the language of its reader', () => {
  it('an invitation in that of the person who invites', async () => {
    const admin = await signedInAs(testbed, 'DEALER_ADMIN', tenantId)
    admin.window.headers['accept-language'] = CHINESE
    const invited = { email: 'mei@people.test', name: 'Mei', role: 'DEALER_STAFF', tenantId }
    expect((await admin.call('POST', '/people', { ...REAUTHENTICATION, ...invited })).body.mailed).toBe(true)
    const { subject, text, html } = await mailTo(invited.email)
    expect([subject, text.split('\n')[0]]).toEqual(['eSIM 控制台邀请', 'Mei，您好：'])
    expect(html).toContain('<html lang="zh-Hans"')
  })

  it('an alert in that of each administrator, with the times of each', async () => {
    const { email: english } = await addPerson(testbed, 'DEALER_ADMIN', tenantId)
    const { email: chinese } = await addPerson(testbed, 'DEALER_ADMIN', tenantId)
    await choose(english, 'en', 'Europe/Vienna')
    await choose(chinese, 'zh-Hans', 'Asia/Shanghai')
    const message =
      'The callback URL has failed since 2026-11-20T13:28:09.000Z. It will be disabled after 72 hours without a success; 50 % of that time has passed. See the delivery log for the errors.'
    await testbed.db.tx(async (tx) => {
      createAlert(tx, testbed.deps.ids, { tenantId, kind: 'ENDPOINT_FAILING', message })
    })
    await queueAlertMails({ ...testbed.deps, mailServer: undefined } as unknown as Parameters<
      typeof queueAlertMails
    >[0])
    const { text } = await mailTo(english)
    expect(text).toContain('The callback URL has failed since 20 November 2026 at 14:28 CET.')
    const translated = await mailTo(chinese)
    expect(translated.subject).toBe('回调地址没有响应：Lotus Travel')
    expect(translated.text).toContain('回调地址自 2026年11月20日 21:28 GMT+8 起失败。')
  })

  it('an alert of the operator in that of the person whose address it is sent to', async () => {
    const { email } = await addPerson(testbed, 'OPERATOR_ADMIN')
    await choose(email, 'zh-Hans')
    const alertEmails = [email.toUpperCase(), 'duty@operator.test']
    await setOperatorSettings(testbed.deps, { newDealerQpsLimit: 50, alertEmails, twinsByDealers: false }, SYSTEM)
    const message = 'The daily check found 3 faults.'
    await testbed.db.tx(async (tx) => {
      createAlert(tx, testbed.deps.ids, { kind: 'LEDGER_FAULT', message })
    })
    await queueAlertMails({ ...testbed.deps, mailServer: undefined } as unknown as Parameters<
      typeof queueAlertMails
    >[0])
    const [upper, duty] = await Promise.all([mailTo(email.toUpperCase()), mailTo('duty@operator.test')])
    expect([upper.subject, duty.subject]).toEqual(['账本不平', 'The ledger does not add up'])
  })
})

import { afterAll, beforeAll, expect, it } from 'vitest'
import { readConfig } from '#platform/config/config.ts'
import { describeVariables } from '#platform/config/describe-config.ts'
import { type SmtpReceiver, startSmtpReceiver } from '#test/harness/servers/smtp-receiver.ts'
import { addTenant, type ConsoleTestbed, signedInAs, startConsole } from '#test/http/console/console-testbed.ts'

let testbed: ConsoleTestbed
let smtp: SmtpReceiver
let admin: Awaited<ReturnType<typeof signedInAs>>
beforeAll(async () => {
  smtp = await startSmtpReceiver()
  testbed = await startConsole({ config: { smtpUrl: smtp.url, mailFrom: 'esim@gateway.example' } })
  admin = await signedInAs(testbed, 'OPERATOR_ADMIN')
})
afterAll(async () => {
  await testbed.stop()
  await smtp.close()
})

const PATH = '/operator-settings'
const CONTACT = '/operator-contact'
const BRAND = '/operator-brand'
const NONE = { newDealerQpsLimit: null, alertEmails: [], twinsByDealers: true }

it('a new dealer gets the limit in force at that time, and existing dealers keep their limits', async () => {
  const create = async (clientName: string) => {
    const { body } = await admin.call('POST', '/tenants', { clientName, currencyCode: 'USD' })
    return async () => (await admin.call('GET', `/tenants/${body.tenantId}`)).body.qpsLimit
  }
  const early = await create('Early')
  expect((await admin.call('PUT', PATH, { ...NONE, newDealerQpsLimit: 25 })).status).toBe(200)
  const late = await create('Late')
  expect([await early(), await late()]).toEqual([null, 25])
  await admin.call('PUT', PATH, NONE)
  expect([await late(), await (await create('Last'))()]).toEqual([25, null])
})

it('a changed setting is recorded in the audit log with its previous value', async () => {
  const alertEmails = [' ops@operator.test', 'ops@operator.test', 'Night shift <night@operator.test>']
  const { body } = await admin.call('PUT', PATH, { newDealerQpsLimit: 30, alertEmails })
  const kept = {
    ...NONE,
    newDealerQpsLimit: 30,
    alertEmails: ['ops@operator.test', 'Night shift <night@operator.test>'],
  }
  expect(body).toEqual(kept)
  const refused = await admin.call('PUT', PATH, { ...NONE, alertEmails: ['ops@operator.test', 'night'] })
  expect(refused.status).toBe(422)
  expect(refused.body.data.fields.alertEmails).toContain('“night”')
  expect((await admin.call('GET', PATH)).body).toEqual(kept)
  const { entries } = (await admin.call('GET', '/audit?action=operator.set_settings')).body
  expect(entries[0]).toMatchObject({ actor: admin.email, before: NONE, after: kept })
})

it('the list of variables shows which variables are set, but never a secret', () => {
  const env = {
    DATABASE_URL: 'postgres://user:hidden@db/gateway',
    OTEL_EXPORTER_OTLP_HEADERS: 'api-key=hidden',
    TRUSTED_PROXIES: '10.0.0.1,10.0.0.2',
    OIDC_ROLES: 'admins=OPERATOR_ADMIN',
  }
  const variables = describeVariables(readConfig(env, []))
  expect(JSON.stringify(variables)).not.toContain('hidden')
  const shown = (name: string) => {
    const { value, state } = variables.find((variable) => variable.name === name)!
    return [state, value]
  }
  expect(shown('DATABASE_URL')).toEqual(['SECRET', null])
  expect(shown('OTEL_EXPORTER_OTLP_HEADERS')).toEqual(['SECRET', null])
  expect(shown('TRUSTED_PROXIES')).toEqual(['SET', '10.0.0.1, 10.0.0.2'])
  expect(shown('OIDC_ROLES')).toEqual(['SET', 'admins=OPERATOR_ADMIN'])
  expect(shown('DEFAULT_QPS_LIMIT')).toEqual(['DEFAULT', '100'])
  expect(shown('SMTP_URL')).toEqual(['NOT_SET', null])
})

it('a test e-mail arrives, and a refusal by the mail server is reported to the caller', async () => {
  expect((await admin.call('POST', `${PATH}/test-mail`, {})).status).toBe(200)
  expect(smtp.mails.at(-1)).toMatchObject({ to: admin.email, subject: 'Test e-mail from the eSIM console' })
  smtp.refusals.rcpt = '550 no such mailbox'
  const { status, body } = await admin.call('POST', `${PATH}/test-mail`, {})
  expect([status, body.code]).toEqual([422, 'MAIL_FAILED'])
  expect(body.message).toContain('no such mailbox')
})

it('dealers see the contact that an administrator of the operator sets, and who it is without a name', async () => {
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', await addTenant(testbed, 'Lotus Travel'))
  const staff = await signedInAs(testbed, 'OPERATOR_STAFF')
  const empty = { name: null, email: null, phone: null, hours: null }
  expect((await dealer.call('GET', CONTACT)).body).toEqual({ ...empty, legalName: null })
  const contact = { name: 'Harbour eSIM', email: 'help@harbour.test', phone: '+49 30 5550', hours: 'Mon–Sat 9–18' }
  const brand = {
    name: contact.name,
    supportEmail: ' help@harbour.test ',
    supportPhone: contact.phone,
    supportHours: ' ',
  }
  expect((await dealer.call('PUT', BRAND, brand)).status).toBe(403)
  expect((await staff.call('PUT', BRAND, brand)).status).toBe(403)
  for (const supportEmail of ['help', 'Help <help@harbour.test>']) {
    const refused = await admin.call('PUT', BRAND, { ...brand, supportEmail })
    expect([refused.status, Object.keys(refused.body.data.fields)]).toEqual([422, ['supportEmail']])
  }
  const kept = { ...NONE, newDealerQpsLimit: 40 }
  await admin.call('PUT', PATH, kept)
  expect((await admin.call('PUT', BRAND, brand)).status).toBe(200)
  await admin.call('PUT', '/operator-details', { legalName: 'Harbour Ltd', taxId: null, address: null })
  const shown = { ...contact, hours: null }
  expect((await dealer.call('GET', CONTACT)).body).toEqual({ ...shown, legalName: 'Harbour Ltd' })
  expect((await admin.call('GET', PATH)).body).toEqual(kept)
  const { entries } = (await admin.call('GET', '/audit?action=brand.set')).body
  expect(entries[0]).toMatchObject({
    actor: admin.email,
    before: { contactName: null },
    after: { contactName: shown.name },
  })
})

it('a dealer’s question about no order is a note on the dealer, with an alert that leads to it', async () => {
  const tenantId = await addTenant(testbed, 'New Shop')
  const dealer = await signedInAs(testbed, 'DEALER_STAFF', tenantId)
  const path = `/tenants/${tenantId}/questions`
  expect((await admin.call('POST', path, { text: 'How do they pay?' })).status).toBe(403)
  expect((await dealer.call('POST', path, { text: 'How do we pay?' })).status).toBe(200)
  const { notes } = (await admin.call('GET', `/tenants/${tenantId}/notes`)).body
  expect(notes).toMatchObject([{ text: 'How do we pay?', actor: dealer.email }])
  const [alert] = (await admin.call('GET', '/notices')).body.notices
  expect(alert).toMatchObject({ kind: 'DEALER_QUESTION', path: `/tenants/${tenantId}` })
  expect(alert.message).toBe('New Shop asks: How do we pay?')
})

import { randomUUID } from 'node:crypto'
import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { expect, it, onTestFinished } from 'vitest'
import { sendDueMails } from '#alerts/mail/send-mail.ts'
import { putBrand } from '#brands/put-brand.ts'
import { queueDeliveries } from '#esims/sends/delivery-loop.ts'
import { findHandOver } from '#esims/sends/hand-over.ts'
import { addDealer, OPERATOR } from '#test/harness/api-node.ts'
import { startSmtpReceiver } from '#test/harness/servers/smtp-receiver.ts'
import { createTopUpTestbed } from '#test/orders/topups/topup-testbed.ts'

const EMAIL = 'mei.tanaka@traveller.test'

it('an order and a send go out under the brand that they name, else the default one, and never another dealer’s', async () => {
  const bed = await createTopUpTestbed(1)
  const { deps } = bed.node
  const smtp = await startSmtpReceiver()
  const mailServer = createMailServer(smtp.url)
  onTestFinished(async () => {
    mailServer.close()
    await bed.close()
    await smtp.close()
  })
  Object.assign(deps.config, { smtpUrl: smtp.url, mailFrom: 'esim@gateway.test' })
  const send = (body: object) =>
    bed.json(bed.dealer, 'esim/profile/send', { transactionId: randomUUID(), email: EMAIL, ...body })
  const deliver = async () => {
    await queueDeliveries(deps)
    await sendDueMails({ ...deps, mailServer, consoleUrl: () => 'http://console.test' })
  }
  const set = (tenantId: string, brand: string, name: string) =>
    putBrand(deps, { tenantId, brand }, { input: { name, replyTo: `care@${brand}.test` }, pictures: {} }, OPERATOR)
  const other = await addDealer(deps)
  await set(other.tenantId, 'harbour', 'Harbour of another')
  await set(bed.dealer.tenantId, 'lotus', 'Lotus Travel')
  await set(bed.dealer.tenantId, 'outlet', 'Lotus <Outlet>')
  expect((await bed.json(bed.dealer, 'brand/list', {})).data.brandList).toEqual([
    { brand: 'lotus', name: 'Lotus Travel', isDefault: true },
    { brand: 'outlet', name: 'Lotus <Outlet>', isDefault: false },
  ])
  const asked = (profileId: string) => findHandOver(deps.db, { tenantId: bed.dealer.tenantId, profileId })
  const buy = async (line: object) => {
    const transactionId = randomUUID()
    const packageInfoList = [{ packageCode: 'JP_1_7', count: 1, ...line }]
    const { code, data } = await bed.json(bed.dealer, 'esim/order', { transactionId, packageInfoList })
    if (code !== '000000') return { code, brand: data.brand, esimTranNo: undefined }
    await bed.order(bed.dealer, transactionId, 'DELIVERED')
    const [{ esimTranNo }] = (await bed.json(bed.dealer, 'esim/query', { transactionId })).data.profileList
    return { code, esimTranNo, ...(await asked(esimTranNo)) }
  }
  for (const foreign of [{ brand: 'harbour' }, { deliverTo: { email: EMAIL, brand: 'harbour' } }])
    expect(await buy(foreign)).toMatchObject({ code: '200018', brand: 'harbour' })
  expect(await buy({ brand: 'outlet', language: 'ja' })).toMatchObject({ brand: 'outlet', language: 'ja' })
  const delivered = await buy({ deliverTo: { email: EMAIL, brand: 'outlet' }, language: 'de' })
  expect(delivered).toMatchObject({ brand: 'outlet', language: 'de' })
  const { esimTranNo } = delivered
  expect((await send({ esimTranNo, brand: 'harbour' })).code).toBe('200018')
  await deliver()
  expect((await send({ esimTranNo, language: 'ko' })).code).toBe('000000')
  await deliver()
  expect(await asked(esimTranNo)).toEqual({ brand: 'outlet', language: 'ko' })
  expect(smtp.mails.map(({ sender, replyTo }) => [sender, replyTo])).toEqual([
    ['"Lotus <Outlet>" <esim@gateway.test>', 'care@outlet.test'],
    ['Lotus Travel <esim@gateway.test>', 'care@lotus.test'],
  ])
  expect(smtp.mails[0]!.html).toContain('Lotus &#60;Outlet&#62;')
  expect(smtp.mails.map(({ html }) => html).join()).not.toMatch(/Harbour|<Outlet>/)
})

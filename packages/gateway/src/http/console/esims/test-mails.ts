import { formatTime } from '@dealer-esim/contract'
import Type, { type Static } from 'typebox'
import { getTestMail, listTestMails, type TestMail } from '#alerts/mail/kept-mails.ts'
import { viewOnly } from '../kernel/access.ts'
import { EVERY_ROLE, type Route, route } from '../kernel/route.ts'
import { CLOSED, nullable, tenantParams, time, uuid } from '../kernel/route-schemas.ts'

const head = {
  mailId: uuid(),
  kind: Type.String({ description: 'DELIVERY or SHARE_LINK, or the kind of an alert' }),
  to: nullable(Type.String({ description: 'null while an operator views as the dealer' })),
  subject: Type.String(),
  sentAt: time(),
}
const testMailRow = Type.Object(head)
export type TestMailRow = Static<typeof testMailRow>

const testMail = Type.Object({
  ...head,
  from: Type.String(),
  replyTo: nullable(Type.String()),
  text: Type.String(),
})
export type TestMailView = Static<typeof testMail>

const mailParams = Type.Object({ tenantId: uuid(), mailId: uuid() }, CLOSED)

/** Scripts never run, nothing is loaded, and links open in a tab of their own. */
const POLICY = [
  `default-src 'none'`,
  `style-src 'unsafe-inline'`,
  'img-src data:',
  `base-uri 'none'`,
  `form-action 'none'`,
  `frame-ancestors 'self'`,
  'sandbox allow-popups allow-popups-to-escape-sandbox',
].join('; ')

/** The e-mails that a test twin would have sent. */
export const testMailRoutes: Route[] = [
  route('GET /tenants/:tenantId/test-mails', {
    access: EVERY_ROLE,
    testMode: 'TWIN_ONLY',
    summary: 'The latest e-mails of a test twin, which nobody received',
    params: tenantParams,
    answer: Type.Object({ mails: Type.Array(testMailRow) }),
    async handle({ deps, signedIn }, { params }) {
      const mails = await listTestMails(deps, params.tenantId)
      const isShown = signedIn.viewedTenantId === null
      return { mails: mails.map((mail) => ({ ...headOf(mail), to: isShown ? mail.to : null })) }
    },
  }),
  route('GET /tenants/:tenantId/test-mails/:mailId', {
    access: EVERY_ROLE,
    testMode: 'TWIN_ONLY',
    summary: 'An e-mail of a test twin, as text',
    params: mailParams,
    answer: testMail,
    async handle({ deps, signedIn }, { params }) {
      // It has the traveller's address and link, which operators do not see.
      if (signedIn.viewedTenantId !== null) throw viewOnly()
      const mail = await getTestMail(deps, params.tenantId, params.mailId)
      const { from, replyTo, text } = mail
      return { ...headOf(mail), from, replyTo, text }
    },
  }),
  route('GET /tenants/:tenantId/test-mails/:mailId/page', {
    access: EVERY_ROLE,
    testMode: 'TWIN_ONLY',
    summary: 'An e-mail of a test twin, as the page that a mail program shows',
    params: mailParams,
    answer: Type.String(),
    answerType: 'text/html',
    async handle({ deps, signedIn, reply }, { params }) {
      if (signedIn.viewedTenantId !== null) throw viewOnly()
      const { html } = await getTestMail(deps, params.tenantId, params.mailId)
      reply.type('text/html; charset=utf-8').header('Content-Security-Policy', POLICY)
      return html.replace('<head>', '<head><base target="_blank">')
    },
  }),
]

function headOf({ mailId, kind, to, subject, sentAt }: TestMail) {
  return { mailId, kind, to, subject, sentAt: formatTime(sentAt) }
}

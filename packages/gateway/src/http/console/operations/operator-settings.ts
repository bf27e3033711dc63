import { QPS_LIMIT_MAX } from '@dealer-esim/contract'
import { createMailServer } from '@dealer-esim/lib/outbound/smtp.ts'
import { Refusal } from '@dealer-esim/lib/refusal.ts'
import Type, { type Static } from 'typebox'
import { inBrand } from '#alerts/mail/brand-mail.ts'
import { testMail } from '#alerts/mail/mail-texts.ts'
import { languageOf } from '#people/languages/people-language.ts'
import { sentence } from '#people/languages/translate-answer.ts'
import { describeVariables } from '#platform/config/describe-config.ts'
import {
  ALERT_EMAILS_MAX,
  getOperatorContact,
  getOperatorSettings,
  setOperatorSettings,
} from '#platform/deployment/operator-options.ts'
import { AGED_BY_CLOCK, DELETED } from '#platform/retention/retention-table.ts'
import { EVERY_ROLE, OPERATOR_ADMINS, OPERATORS, type Route, route } from '../kernel/route.ts'
import { CLOSED, line, nullable } from '../kernel/route-schemas.ts'

const ADDRESS_LENGTH_MAX = 254
/** A low limit, because each test contacts the mail server. */
const TEST_MAILS_PER_MINUTE = 5

const settings = {
  newDealerQpsLimit: nullable(Type.Integer({ minimum: 1, maximum: QPS_LIMIT_MAX })),
  alertEmails: Type.Array(line(ADDRESS_LENGTH_MAX), { maxItems: ALERT_EMAILS_MAX }),
}
const twinsByDealers = Type.Boolean({ description: 'Dealers’ administrators may create test twins' })
const operatorSettings = Type.Object({ ...settings, twinsByDealers })
export type OperatorSettingsView = Static<typeof operatorSettings>

const operatorContact = Type.Object({
  name: nullable(Type.String()),
  email: nullable(Type.String()),
  phone: nullable(Type.String()),
  hours: nullable(Type.String()),
  legalName: nullable(Type.String({ description: 'Names the operator where the contact has no name' })),
})
export type OperatorContactView = Static<typeof operatorContact>

const gatewayConfiguration = Type.Object({
  variables: Type.Array(
    Type.Object({
      name: Type.String(),
      description: sentence(),
      value: nullable(Type.String({ description: 'Never that of a secret' })),
      state: Type.Enum(['SET', 'DEFAULT', 'NOT_SET', 'SECRET']),
    }),
  ),
  retention: Type.Array(Type.Object({ what: sentence(), days: Type.Number() })),
})
export type GatewayConfiguration = Static<typeof gatewayConfiguration>

export const operatorSettingsRoutes: Route[] = [
  route('GET /operator-settings', {
    access: OPERATORS,
    summary: 'The operator’s settings, which apply to every node',
    answer: operatorSettings,
    handle: ({ deps }) => getOperatorSettings(deps.db),
  }),
  route('PUT /operator-settings', {
    access: OPERATOR_ADMINS,
    summary:
      'Set the limit of new dealers, the recipients of the operator’s alerts, and who creates test twins. Audited',
    body: Type.Object({ ...settings, twinsByDealers: Type.Optional(twinsByDealers) }, CLOSED),
    answer: operatorSettings,
    async handle({ deps, by }, { body }) {
      const { twinsByDealers } = await getOperatorSettings(deps.db)
      return setOperatorSettings(deps, { twinsByDealers, ...body }, by)
    },
  }),
  route('GET /operator-contact', {
    access: EVERY_ROLE,
    testMode: 'SAME',
    summary: 'Whom dealers ask, and how: a part of the operator’s brand',
    answer: operatorContact,
    handle: ({ deps }) => getOperatorContact(deps.db),
  }),
  route('GET /gateway-configuration', {
    access: OPERATORS,
    summary: 'The variables of the process that answers, without secrets, and how long data is kept',
    answer: gatewayConfiguration,
    handle: async ({ deps }) => ({ variables: describeVariables(deps.config), retention: RETENTION }),
  }),
  route('POST /operator-settings/test-mail', {
    access: OPERATOR_ADMINS,
    summary: 'Send an e-mail to yourself, and answer what the mail server said',
    ratePerMinute: TEST_MAILS_PER_MINUTE,
    async handle({ deps, person, request }) {
      const { smtpUrl, mailFrom } = deps.config
      if (smtpUrl === undefined || mailFrom === undefined)
        throw new Refusal(409, 'NO_MAIL_SERVER', 'No mail server is configured. Set SMTP_URL and MAIL_FROM first.')
      const server = createMailServer(smtpUrl)
      const messageId = `<${deps.ids.uuid()}@console>`
      const content = testMail(deps.consoleUrl(), { language: languageOf(request).tag, timeZone: person.timeZone })
      const mail = await inBrand(deps, mailFrom, { tenantId: null, brand: null }, content)
      const outcome = await server.send({ ...mail, to: person.email, messageId })
      server.close()
      if (outcome.kind === 'failed')
        throw new Refusal(422, 'MAIL_FAILED', `The mail server did not accept the e-mail: ${outcome.message}`)
    },
  }),
]

const HOURS_PER_DAY = 24

/** The kinds of data that are kept for a day or longer. */
const RETENTION = [
  ...AGED_BY_CLOCK.flatMap(({ what, keepHours }) => (keepHours ? [{ what, days: keepHours / HOURS_PER_DAY }] : [])),
  ...DELETED.map(({ what, keepDays }) => ({ what, days: keepDays })),
]

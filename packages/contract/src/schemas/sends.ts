import Type, { type Static } from 'typebox'
import { BRAND_LENGTH_MAX, EMAIL_LENGTH_MAX, TRAVELLER_NAME_LENGTH_MAX } from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { SEND_STATUSES } from './enumerations.ts'
import { CLOSED, iccid, name, nullable, time, transactionIdOfAction } from './scalars.ts'

const language = () =>
  Type.String({
    minLength: 1,
    maxLength: 64,
    pattern: TEXT_PATTERNS.language.pattern,
    description: "The traveller's language (BCP 47).",
  })

const brand = () =>
  Type.String({
    minLength: 1,
    maxLength: BRAND_LENGTH_MAX,
    pattern: TEXT_PATTERNS.brand.pattern,
    description: 'The brand under which it is handed over. Without it: the default one.',
  })

const recipient = {
  email: Type.String({
    minLength: 3,
    maxLength: EMAIL_LENGTH_MAX,
    pattern: TEXT_PATTERNS.email.pattern,
    description: "The traveller's address. It is encrypted, and deleted after 90 days or as the operator has set.",
    examples: ['traveller@example.com'],
  }),
  name: Type.Optional(
    Type.String({
      minLength: 1,
      maxLength: TRAVELLER_NAME_LENGTH_MAX,
      pattern: TEXT_PATTERNS.line.pattern,
      description: "The traveller's name, which is kept like the address.",
    }),
  ),
  language: Type.Optional(language()),
  brand: Type.Optional(brand()),
}

/** Members of an order line that say how its eSIM is handed over. */
export const handOverMembers = {
  deliverTo: Type.Optional(
    Type.Object(recipient, {
      ...CLOSED,
      description: 'Sends the link of the eSIM to the traveller once it is there. Only where `count` is 1.',
    }),
  ),
  language: Type.Optional(language()),
  brand: Type.Optional(brand()),
}

export const sendRequest = Type.Object(
  {
    transactionId: transactionIdOfAction(),
    esimTranNo: Type.Optional(name({ description: 'Either `esimTranNo` or `iccid` is required.' })),
    iccid: Type.Optional(iccid({ description: 'Of several eSIMs with this ICCID, the newest is meant.' })),
    ...recipient,
  },
  CLOSED,
)
export type SendRequest = Static<typeof sendRequest>

const sendStatus = () =>
  Type.Enum(SEND_STATUSES, {
    description: 'FAILED: the mail server has refused it. OPENED: the page of the eSIM was opened after it was sent.',
  })

export const sendAnswer = Type.Object({
  sendNo: Type.String(),
  transactionId: Type.String({ description: "The dealer's own key of the send, as sent with it." }),
  esimTranNo: Type.String(),
  sendStatus: sendStatus(),
  createTime: time(),
  lastUpdateTime: time(),
})
export type SendAnswer = Static<typeof sendAnswer>

export const brandListRequest = Type.Object({}, CLOSED)
export type BrandListRequest = Static<typeof brandListRequest>

export const brandListAnswer = Type.Object({
  brandList: Type.Array(
    Type.Object({
      brand: Type.String({
        description: 'For `brand` of an order line and of `esim/profile/send`.',
        examples: ['lotus'],
      }),
      name: Type.String({ description: 'As travellers see it.' }),
      isDefault: Type.Boolean({ description: 'The brand of what names none.' }),
    }),
    { description: 'The default brand first.' },
  ),
})
export type BrandListAnswer = Static<typeof brandListAnswer>

/** What was sent of an order, without addresses. */
export const send = Type.Object({
  ...sendAnswer.properties,
  transactionId: nullable(
    Type.String({ description: "The dealer's own key of the send; null: `deliverTo` of the order, or the console." }),
  ),
})
export type Send = Static<typeof send>

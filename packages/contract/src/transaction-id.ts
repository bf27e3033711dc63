import Type from 'typebox'
import { FORMS } from './forms.ts'
import { TRANSACTION_ID_LENGTH_MAX } from './limits.ts'

const KEY = "The dealer's own key of the order"
/** To be said wherever a transactionId or an RT-RequestID is documented (contract §3). */
const RETRY_RULE = 'A retry takes a new RT-RequestID and the same `transactionId`'

/** As a request says it. */
export const transactionId = () =>
  Type.String({
    minLength: 1,
    maxLength: TRANSACTION_ID_LENGTH_MAX,
    pattern: FORMS.transactionId.pattern,
    description: `${KEY}, case-sensitive. ${RETRY_RULE}: it makes the order idempotent.`,
    examples: ['T-1'],
  })

/** As an answer tells it. */
export const transactionIdOfOrder = () => Type.String({ description: `${KEY}, as it was ordered with.` })

/** As an event tells it, perhaps to whoever never had an answer. */
export const transactionIdOfEvent = () => Type.String({ description: `${KEY}. ${RETRY_RULE}.` })

import Type, { type Static } from 'typebox'
import { EVENT_TYPES } from './event-types.ts'
import { FORMS } from './forms.ts'
import { CALLBACK_URL_LENGTH_MAX } from './limits.ts'
import { CLOSED, nullable, time } from './scalars.ts'

export const webhookSetRequest = Type.Object(
  {
    callbackUrl: Type.Optional(
      nullable(
        Type.String({
          minLength: 1,
          maxLength: CALLBACK_URL_LENGTH_MAX,
          pattern: FORMS.line.pattern,
          description: 'https, without user name and password. Null removes it.',
          examples: ['https://dealer.example.com/esim-events'],
        }),
      ),
    ),
    eventTypes: Type.Optional(
      Type.Array(Type.Enum(EVENT_TYPES), { uniqueItems: true, description: 'The events that are sent.' }),
    ),
    enabled: Type.Optional(Type.Boolean()),
  },
  CLOSED,
)
export type WebhookSetRequest = Static<typeof webhookSetRequest>

export const webhookSetAnswer = Type.Object({
  callbackUrl: nullable(Type.String()),
  eventTypes: Type.Array(Type.Enum(EVENT_TYPES)),
  enabled: Type.Boolean(),
  lastUpdateTime: time(),
})
export type WebhookSetAnswer = Static<typeof webhookSetAnswer>

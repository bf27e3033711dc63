import Type, { type Static } from 'typebox'
import { REASON_LENGTH_MAX } from '#limits.ts'
import { TEXT_PATTERNS } from '#text-patterns.ts'
import { ACTION_STATUSES, ESIM_ACTIONS, type EsimAction } from './enumerations.ts'
import { CLOSED, currencyCode, iccid, keyLabel, name, nullable, price, time, transactionIdOfAction } from './scalars.ts'

/** The request of `esim/cancel`, `esim/suspend`, `esim/unsuspend` and `esim/revoke`. */
export const actionRequest = <A extends EsimAction>(action: A) =>
  Type.Object(
    {
      transactionId: transactionIdOfAction(),
      action: Type.Literal(action, {
        description: "Must be the operation's own action: the signature does not cover the path.",
      }),
      esimTranNo: Type.Optional(name({ description: 'Either `esimTranNo` or `iccid` is required.' })),
      iccid: Type.Optional(iccid({ description: 'Of several eSIMs with this ICCID, the newest is meant.' })),
      reason: Type.Optional(
        Type.String({
          maxLength: REASON_LENGTH_MAX,
          pattern: TEXT_PATTERNS.text.pattern,
          description: "The dealer's own note.",
        }),
      ),
    },
    CLOSED,
  )
export type ActionRequest = Static<ReturnType<typeof actionRequest<EsimAction>>>

export const actionAnswer = Type.Object({
  actionNo: Type.String(),
  transactionId: nullable(
    Type.String({ description: "The dealer's own key of the action; null: the operator began it." }),
  ),
  startedBy: Type.Enum(['DEALER', 'OPERATOR']),
  action: Type.Enum(ESIM_ACTIONS),
  esimTranNo: Type.String(),
  iccid: Type.String(),
  orderNo: Type.String({ description: 'The order that delivered the eSIM.' }),
  actionStatus: Type.Enum(ACTION_STATUSES),
  refundAmount: price({ description: 'The price less the fee; 0 until DONE' }),
  feeAmount: price({ description: 'The part of the price that was not refunded; 0 until DONE' }),
  currencyCode: currencyCode(),
  failureReason: nullable(Type.String()),
  keyLabel: keyLabel(),
  createTime: time(),
  lastUpdateTime: time(),
})
export type ActionAnswer = Static<typeof actionAnswer>

export const actionQueryRequest = Type.Object(
  {
    actionNo: Type.Optional(name({ description: 'Either `actionNo` or `transactionId` is required.' })),
    transactionId: Type.Optional(transactionIdOfAction()),
  },
  CLOSED,
)
export type ActionQueryRequest = Static<typeof actionQueryRequest>

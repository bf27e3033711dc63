import type { Static, TObject } from 'typebox'
import { type FailureCode, failureCodes } from '../codes/codes.ts'
import { balanceAnswer, balanceRequest, healthAnswer, healthRequest } from './accounts.ts'
import { orderAnswer, orderRequest, queryAnswer, queryRequest } from './orders.ts'
import { packageListAnswer, packageListRequest } from './packages.ts'
import { profileListAnswer, profileListRequest } from './profiles.ts'
import { webhookSetAnswer, webhookSetRequest } from './webhooks.ts'

/** Operations are posted to `{base_url}` + this + the operation's key. */
export const API_PATH = '/open-api/v1/'

/** The whole dealers' interface. Server, SDK, OpenAPI and tests are made from this table. */
export const operations = {
  health: operation(
    'Am I connected?',
    'Answers who the credentials belong to. The first call of an integration.',
    healthRequest,
    healthAnswer,
  ),
  'account/balance': operation(
    'What can I spend?',
    'The prepaid balance that orders are debited from, and how far below zero it may go.',
    balanceRequest,
    balanceAnswer,
  ),
  'package/list': operation(
    'What can I buy?',
    'The packages that this tenant may buy now, at its own prices; with `updatedSince`, what changed.',
    packageListRequest,
    packageListAnswer,
  ),
  'esim/order': operation(
    'Buy eSIMs',
    'Debits the balance and orders. Idempotent on `transactionId`, for ever: a repeat answers the first order, with the header `Idempotent-Replayed: true`. A retry takes a new RT-RequestID and the same `transactionId`.',
    orderRequest,
    orderAnswer,
    ['200005', '200006', '200007', '200011', '200012', '200014', '310241', '310244'],
  ),
  'esim/query': operation(
    'What became of an order?',
    'One order with its lines, its eSIMs and the history of its state.',
    queryRequest,
    queryAnswer,
    ['200013'],
  ),
  'esim/profile/list': operation(
    'List eSIMs',
    'eSIMs with what a traveller needs to install them, newest first. Nothing yet is an empty list.',
    profileListRequest,
    profileListAnswer,
  ),
  'webhook/set': operation(
    'Choose where events go',
    'Members that are absent stay as they are, so `{}` reads the setting. A URL must answer a CHECK_HEALTH event first.',
    webhookSetRequest,
    webhookSetAnswer,
    ['400101', '400102'],
  ),
} as const

export type OperationName = keyof typeof operations
export type RequestOf<N extends OperationName> = Static<(typeof operations)[N]['request']>
export type AnswerOf<N extends OperationName> = Static<(typeof operations)[N]['answer']>

export const operationNames = Object.keys(operations) as OperationName[]

export function isOperationName(value: string): value is OperationName {
  return Object.hasOwn(operations, value)
}

/** Codes that any operation may answer: those of transport, admission and parameters. */
export const commonCodes = failureCodes.filter((code) => /^(0000|0001|1010)/.test(code))

/** `codes` are the failures that this operation has beyond the common ones. */
function operation<Q extends TObject, A extends TObject>(
  summary: string,
  description: string,
  request: Q,
  answer: A,
  codes: readonly FailureCode[] = [],
) {
  return { summary, description, request, answer, codes }
}

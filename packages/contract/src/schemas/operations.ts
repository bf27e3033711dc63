import type { Static, TObject } from 'typebox'
import { type FailureCode, failureCodes } from '#codes/codes.ts'
import {
  balanceAnswer,
  balanceRequest,
  healthAnswer,
  healthRequest,
  statementAnswer,
  statementRequest,
} from './accounts.ts'
import { actionAnswer, actionQueryRequest, actionRequest } from './actions.ts'
import {
  checkpointAnswer,
  checkpointRequest,
  consistencyAnswer,
  consistencyRequest,
  keysAnswer,
  keysRequest,
  proofAnswer,
  proofRequest,
} from './books.ts'
import { deviceListAnswer, deviceListRequest } from './devices.ts'
import { locationListAnswer, locationListRequest } from './locations.ts'
import {
  orderAnswer,
  orderListAnswer,
  orderListRequest,
  orderRequest,
  queryAnswer,
  queryRequest,
  topupAnswer,
  topupRequest,
} from './orders.ts'
import { packageListAnswer, packageListRequest } from './packages.ts'
import { profile, profileListAnswer, profileListRequest, usageQueryAnswer, usageQueryRequest } from './profiles.ts'
import { brandListAnswer, brandListRequest, sendAnswer, sendRequest } from './sends.ts'
import {
  testBalanceRequest,
  testClockAnswer,
  testClockRequest,
  testEsimRequest,
  testOrderRequest,
} from './test-operations.ts'
import { webhookSetAnswer, webhookSetRequest, webhookTestAnswer, webhookTestRequest } from './webhooks.ts'

/** Operations are posted to `{base_url}` + this + the operation's key. */
export const API_PATH = '/open-api/v1/'

/** Failures of the actions that no policy restricts. */
const ACTION_CODES: readonly FailureCode[] = ['200002', '200012', '200015', '310403']

/** The whole dealer API. The server, SDK, OpenAPI document and tests are derived from this table. */
export const operations = {
  health: operation(
    'Check the connection',
    'Returns the tenant that the credentials belong to. The first call of an integration.',
    healthRequest,
    healthAnswer,
  ),
  'account/balance': operation(
    'Get the balance',
    'Returns the prepaid balance that orders are debited from, and how far below zero it may go.',
    balanceRequest,
    balanceAnswer,
  ),
  'package/list': operation(
    'List packages',
    'Returns the packages that this tenant may buy now, at its own prices; with `updatedSince`, only those that changed.',
    packageListRequest,
    packageListAnswer,
    ['310403'],
  ),
  'esim/order': operation(
    'Buy eSIMs',
    'Debits the balance and places an order. Idempotent on `transactionId`, without time limit: a repeat returns the first order, with the header `Idempotent-Replayed: true`. A retry needs a new RT-RequestID and the same `transactionId`. With `validateOnly: true`, a dry run: every check is made, nothing is bought and nothing is reserved.',
    orderRequest,
    orderAnswer,
    ['200005', '200006', '200007', '200011', '200012', '200014', '200018', '200019', '310241', '310244'],
  ),
  'esim/topup': operation(
    'Top up an eSIM',
    'Debits the balance and adds a package of type TOPUP to an eSIM. Idempotent on `transactionId`, like `esim/order`; orders, top-ups and actions share transactionIds. `esim/query` returns whether it is delivered. `validateOnly: true` is a dry run, as for `esim/order`.',
    topupRequest,
    topupAnswer,
    [
      ...(['200002', '200005', '200006', '200007', '200011', '200012', '200014', '200015'] as const),
      ...(['310241', '310244', '310245', '310403'] as const),
    ],
  ),
  'esim/query': operation(
    'Get an order',
    'Returns one order with its lines, its eSIMs and its status history.',
    queryRequest,
    queryAnswer,
    ['200013'],
  ),
  'esim/profile/list': operation(
    'List eSIMs',
    'Returns eSIMs with the data that a traveller needs to install them, newest first. Before the first eSIM the list is empty.',
    profileListRequest,
    profileListAnswer,
  ),
  'esim/profile/send': operation(
    'Send an eSIM to the traveller',
    'Sends the link of an eSIM by e-mail. Idempotent on `transactionId`, which it shares with orders, top-ups and actions: a repeat sends nothing and returns the same send with its present status.',
    sendRequest,
    sendAnswer,
    ['200002', '200012', '200018', '200019', '310403'],
  ),
  'brand/list': operation(
    'List brands',
    'Returns the brands under which travellers see this tenant. They are made on the console.',
    brandListRequest,
    brandListAnswer,
  ),
  'esim/cancel': operation(
    'Cancel an eSIM',
    'Cancels an eSIM that was not downloaded. Its price, less the fee of the cancel policy, is refunded when the supplier has cancelled it. Idempotent on `transactionId`, like all actions: a repeat returns the same action with its present status.',
    actionRequest('CANCEL'),
    actionAnswer,
    ['200002', '200012', '200015', '200017', '310403'],
  ),
  'esim/suspend': operation(
    'Suspend an eSIM',
    'Interrupts the service of an eSIM in use. Its validity goes on.',
    actionRequest('SUSPEND'),
    actionAnswer,
    ACTION_CODES,
  ),
  'esim/unsuspend': operation(
    'Resume a suspended eSIM',
    'Resumes the service of a suspended eSIM.',
    actionRequest('UNSUSPEND'),
    actionAnswer,
    ACTION_CODES,
  ),
  'esim/revoke': operation(
    'Revoke an eSIM',
    'Ends the service of an eSIM for good. Nothing is refunded.',
    actionRequest('REVOKE'),
    actionAnswer,
    ACTION_CODES,
  ),
  'esim/action/query': operation(
    'Get an action',
    'Returns a cancel, suspend, unsuspend or revoke, with its current status.',
    actionQueryRequest,
    actionAnswer,
    ['200013'],
  ),
  'webhook/set': operation(
    'Set the webhook',
    'Sets where events are sent. Absent members are not changed, so `{}` reads the setting. A new URL must first answer a CHECK_HEALTH event.',
    webhookSetRequest,
    webhookSetAnswer,
    ['400101', '400102'],
  ),
  'webhook/test': operation(
    'Test the webhook',
    'Sends one signed event of a type, with sample content and `"test": true`, to the URL as it is set: once, never retried, and whatever the receiver answers, no setting changes. Ten a minute, together with the health checks of `webhook/set`.',
    webhookTestRequest,
    webhookTestAnswer,
    ['400101'],
  ),
  'order/list': operation(
    'List orders',
    'Returns orders with their lines, newest first, without eSIMs and history: `esim/query` returns those.',
    orderListRequest,
    orderListAnswer,
  ),
  'account/statement': operation(
    'List movements of the balance',
    'Returns the debits, refunds, payments and adjustments of the balance, newest first.',
    statementRequest,
    statementAnswer,
  ),
  'ledger/checkpoint': operation(
    'Get a checkpoint of the ledger',
    'Returns a signed note of the root of the Merkle tree over your entries, so that no entry can be changed, removed or inserted later without your noticing. `{}`: of the newest entry that is in the tree, which is seconds behind the balance, at most one a second.',
    checkpointRequest,
    checkpointAnswer,
  ),
  'ledger/proof': operation(
    'Prove an entry',
    'Returns the hashes that prove that an entry of `account/statement` is in the tree of a checkpoint.',
    proofRequest,
    proofAnswer,
  ),
  'ledger/consistency': operation(
    'Prove that the ledger was only continued',
    'Returns the hashes that prove that the tree of a newer checkpoint begins with all entries of an older one, unchanged.',
    consistencyRequest,
    consistencyAnswer,
  ),
  'ledger/keys': operation(
    'List the keys of checkpoints',
    'Returns the public keys that have signed checkpoints of this tenant, each endorsed by its predecessor, and a signed note for each restore from a backup.',
    keysRequest,
    keysAnswer,
  ),
  'location/list': operation(
    'List locations',
    'Returns all countries (ISO 3166-1), and the regional and global coverage of the packages that this tenant may buy, with names in the language asked for.',
    locationListRequest,
    locationListAnswer,
  ),
  'device/list': operation(
    'List devices',
    'Returns devices that are known to take an eSIM, from a dated table.',
    deviceListRequest,
    deviceListAnswer,
  ),
  'esim/usage/query': operation(
    'Get the usage of eSIMs',
    'Returns data usage, expiry and status of up to 100 eSIMs, as the supplier last reported them.',
    usageQueryRequest,
    usageQueryAnswer,
  ),
  'test/balance/set': operation(
    'Set the balance of a test account',
    'Sets the balance: the difference is posted as an ADJUSTMENT, none if there is no difference. Answers as `account/balance`. Only for test accounts; elsewhere 000109, as for all operations that begin with `test/`.',
    testBalanceRequest,
    balanceAnswer,
  ),
  'test/esim/update': operation(
    'Report a state or usage of a test eSIM',
    'Does what a report of the supplier does: states, usage and events follow by the ordinary rules, and a step backwards is ignored. Returns the eSIM as it is afterwards.',
    testEsimRequest,
    profile,
    ['200015', '310403'],
  ),
  'test/clock/advance': operation(
    'Advance the test time',
    'Moves the time of this account forward. What the time brings happens in its order: notices, expiry, usage of sandbox packages, the end of cancel periods, repeated attempts to send events. What has happened keeps its time.',
    testClockRequest,
    testClockAnswer,
    ['200005'],
  ),
  'test/order/resolve': operation(
    'End a test order',
    'Ends an order that a sandbox package has left ALLOCATING or UNDER_REVIEW, as if its supplier had answered at last. An order that has ended is returned as it is.',
    testOrderRequest,
    queryAnswer,
    ['200013', '200015'],
  ),
} as const

export type OperationName = keyof typeof operations
export type RequestOf<N extends OperationName> = Static<(typeof operations)[N]['request']>
export type AnswerOf<N extends OperationName> = Static<(typeof operations)[N]['answer']>

export const operationNames = Object.keys(operations) as OperationName[]

export function isOperationName(value: string): value is OperationName {
  return Object.hasOwn(operations, value)
}

/** Codes that any operation may return: those of transport, admission and parameters. */
export const commonCodes = failureCodes.filter((code) => /^(0000|0001|1010)/.test(code))

/** `codes` are the failures of this operation in addition to the common ones. */
function operation<Q extends TObject, A extends TObject>(
  summary: string,
  description: string,
  request: Q,
  answer: A,
  codes: readonly FailureCode[] = [],
) {
  return { summary, description, request, answer, codes }
}

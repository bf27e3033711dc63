import {
  API_PATH,
  answerExamples,
  dryRunExamples,
  hasDryRun,
  type OperationName,
  operationNames,
  operations,
  requestExamples,
} from '@dealer-esim/contract'
import { CHECK, SIGN } from './postman-scripts.ts'

/**
 * docs/postman.json: a request for each operation, in an order in which the collection runner can send them. They use the
 * examples of the documentation, with variables in place of what differs from gateway to gateway: `{{esimTranNo}}`.
 */
export function postmanCollection(): object {
  return {
    info: { name: 'Dealer eSIM Open API v1', description: ABOUT, schema: SCHEMA },
    event: [script('prerequest', SIGN), script('test', CHECK)],
    variable: VARIABLES.map(([key, value]) => ({ key, value })),
    item: folders().map(([name, names]) => ({ name, item: names.flatMap(itemsOf) })),
  }
}

/** docs/postman-environment.json: the credentials of test mode. */
export function postmanEnvironment(): object {
  const values = [
    { key: 'baseUrl', value: 'https://esim.example.com', type: 'default', enabled: true },
    { key: 'appKey', value: '', type: 'default', enabled: true },
    { key: 'appSecret', value: '', type: 'secret', enabled: true },
    { key: 'allowLive', value: 'false', type: 'default', enabled: true },
  ]
  return { name: 'Dealer eSIM, test mode', values, _postman_variable_scope: 'environment' }
}

const SCHEMA = 'https://schema.getpostman.com/json/collection/v2.1.0/collection.json'

const ABOUT = `Every request is signed by the script of the collection. Choose the environment *Dealer eSIM, test mode* and fill in \`baseUrl\`, \`appKey\` and \`appSecret\` of test mode. A live key is refused unless \`allowLive\` is \`true\`.

Run the whole collection: it buys two eSIMs, waits for them, tops one up and cancels the other. Or send one request; those about an eSIM need *esim/order* and *esim/query* before them. Every answer is \`{"code", "message", "data"}\`; success is code \`000000\`. Each run has transactionIds of its own. To repeat an order under the same transactionId, send its request again.`

/** A story: what is bought in one folder is used in the next. */
const STORY: [folder: string, names: OperationName[]][] = [
  ['Account', ['health', 'account/balance']],
  ['Catalogue', ['location/list', 'package/list']],
  ['Buy', ['esim/order', 'esim/query', 'esim/profile/list', 'esim/usage/query', 'esim/profile/send']],
  ['After the sale', ['esim/topup', 'esim/cancel', 'esim/action/query']],
  ['Lists', ['order/list', 'account/statement']],
  ['Events', ['webhook/set', 'webhook/test']],
  ['Service of an eSIM', ['esim/suspend', 'esim/unsuspend', 'esim/revoke']],
]

/** An operation that the story does not know is in the last folder. */
function folders(): [folder: string, names: OperationName[]][] {
  const placed = new Set(STORY.flatMap(([, names]) => names))
  const others = operationNames.filter((name) => !placed.has(name))
  return others.length > 0 ? [...STORY, ['More', others]] : STORY
}

/** Codes that are documented for each operation, besides the common ones, which a correct request never meets. */
const REFUSALS = Object.fromEntries(
  operationNames.flatMap((name) => (operations[name].codes.length > 0 ? [[name, operations[name].codes]] : [])),
)

const VARIABLES: [key: string, value: string][] = [
  ['refusals', JSON.stringify(REFUSALS)],
  ...['run', 'packageCode', 'price', 'amount', 'orderNo', 'esimTranNo', 'esimToCancel', 'topupPackageCode'].map(
    (key): [string, string] => [key, ''],
  ),
  ['topupPrice', ''],
  ['balance', ''],
  ['treeSize', ''],
]

/** The request of an operation, behind its dry run and behind what else it needs. */
function itemsOf(name: OperationName): object[] {
  const items = [item(name, name, bodyOf(name), answerExamples[name])]
  if (hasDryRun(name)) {
    const { request, answer } = dryRunExamples[name]
    items.unshift(item(name, `${name}, a dry run`, bodyOf(name, request), answer))
  }
  if (name === 'esim/topup') {
    const fitting = { type: 'TOPUP', esimTranNo: requestExamples['esim/topup'].esimTranNo }
    items.unshift(
      item('package/list', 'package/list, of top-ups', bodyOf(name, fitting), answerExamples['package/list']),
    )
  }
  return items
}

function item(operation: OperationName, name: string, body: string, answer: object): object {
  const path = API_PATH.slice(1) + operation
  const request = {
    method: 'POST',
    description: operations[operation].description,
    header: [{ key: 'Content-Type', value: 'application/json' }],
    body: { mode: 'raw', raw: body, options: { raw: { language: 'json' } } },
    url: { raw: `{{baseUrl}}/${path}`, host: ['{{baseUrl}}'], path: path.split('/') },
  }
  const text = JSON.stringify({ code: '000000', message: 'success', data: answer }, null, 2)
  const header = [{ key: 'Content-Type', value: 'application/json' }]
  const response = [{ name: 'Success', originalRequest: request, status: 'OK', code: 200, header, body: text }]
  return { name, request, response }
}

/** Bodies whose examples fit no account but that of the documentation. The balance becomes that of the run's beginning. */
const FITTING_BODIES: Partial<Record<OperationName, string>> = {
  'webhook/set': '{}', // reads the setting: an address of the reader would have to answer
  'ledger/proof': '{\n  "entryNo": "{{treeSize}}",\n  "treeSize": {{treeSize}}\n}',
  'ledger/consistency': '{\n  "fromSize": 1,\n  "toSize": {{treeSize}}\n}',
  'test/balance/set': '{\n  "balance": {{balance}}\n}',
  // An unlimited package has no percentage.
  'test/esim/update': '{\n  "esimTranNo": "{{esimTranNo}}",\n  "smdpStatus": "ENABLED",\n  "orderUsage": 1048576\n}',
  'test/clock/advance': '{\n  "hours": 24\n}',
}

/** The example as text, with variables. The order is for two eSIMs: one is topped up, and the other cancelled. */
function bodyOf(name: OperationName, example: object = requestExamples[name]): string {
  const fitting = FITTING_BODIES[name]
  if (fitting !== undefined) return fitting
  const { esimTranNo } = requestExamples['esim/topup']
  const { orderNo } = requestExamples['esim/profile/list']
  return JSON.stringify(example, null, 2)
    .replace(/"transactionId": "([^"]+)"/g, '"transactionId": "{{run}}-$1"')
    .replaceAll(`"${esimTranNo}"`, name === 'esim/cancel' ? '"{{esimToCancel}}"' : '"{{esimTranNo}}"')
    .replaceAll(`"${orderNo}"`, '"{{orderNo}}"')
    .replaceAll('"JP_1_7_TOPUP"', '"{{topupPackageCode}}"')
    .replaceAll('"JP_1_7"', '"{{packageCode}}"')
    .replace('"count": 1', '"count": 2')
    .replace(/"price": \d+/, name === 'esim/topup' ? '"price": {{topupPrice}}' : '"price": {{price}}')
    .replace(/"amount": \d+/, '"amount": {{amount}}')
}

function script(listen: 'prerequest' | 'test', text: string): object {
  return { listen, script: { type: 'text/javascript', exec: text.trim().split('\n') } }
}

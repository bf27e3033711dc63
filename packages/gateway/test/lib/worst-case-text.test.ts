import * as contract from '@dealer-esim/contract'
import { isAddressOrBlock, parseExactAddress } from '@dealer-esim/lib/address-blocks.ts'
import { escapeFormula, unescapeFormula } from '@dealer-esim/lib/csv.ts'
import { readCursor } from '@dealer-esim/lib/cursor.ts'
import { parseDatabaseUrl } from '@dealer-esim/lib/database-url.ts'
import { parseDateOrTime } from '@dealer-esim/lib/date-or-time.ts'
import { parseLine } from '@dealer-esim/lib/refusal.ts'
import { headerKey, parseColumnMap } from '@dealer-esim/lib/table-files/table-columns.ts'
import { quoteOf } from '@dealer-esim/wholesalers/es2plus/outcome.ts'
import { parseAnswer } from '@dealer-esim/wholesalers/esim-access/client.ts'
import { amountOf, dateOf, iccidOf, isText, parseObject } from '@dealer-esim/wholesalers/members.ts'
import { expect, it } from 'vitest'
import { canonical } from '#http/caller.ts'
import { parseBody } from '#http/rt/rt-request.ts'
import { domainOf } from '#people/provider/provider-passwords.ts'
import { domains, groupRoles, issuer, mailAddress, mailAddresses, smtpUrl } from '#platform/config/parsers.ts'
import { masterKey } from '#platform/config/variables.ts'
import { failureText } from '#products/sync/sync-alert.ts'
import { parseAllowlist } from '#tenants/allowlist.ts'
import { isEmailAddress } from '#tenants/tenant-settings.ts'
import { parseReceipt } from '#wallet/requests/receipt.ts'
import { styleOf } from '#wallet/statement/statement-document.ts'
import { firstLineOf, maskedUrl } from '#webhooks/attempt-log.ts'

/*
 * Every parser of text written by others takes time linear in the text's length. Each is given the texts below, as long as
 * its limit allows, and has a second of processor time for each; a quadratic parser would need minutes for some.
 */

const CPU_MAX_MS = 1_000

/** Node's own limit on the headers of a request. */
const HEADER = 16_384
const BODY = contract.BODY_SIZE_MAX_BYTES
/**
 * Answers, cells and files may be longer, but text of this length already exposes a quadratic parser, which takes ten
 * seconds.
 */
const LONG = 128 * 1024

const REPEATED = [
  ...[
    ' ',
    '\t',
    '\n',
    '/',
    '.',
    '0',
    '1',
    'a',
    'A',
    '=',
    '-',
    '_',
    ',',
    ';',
    ':',
    '@',
    '%',
    '"',
    "'",
    '\\',
    '<',
    '[',
    '(',
    '+',
  ],
  ...[
    'a.',
    'a@',
    'a-',
    '1.',
    '0,',
    '{"a":',
    '[[',
    '\\"',
    '%20',
    '<style>',
    '](',
    ';\t"',
    '\r\n',
    '$1$',
    'é',
    '…',
    '\u2028',
  ],
]
const ENDS = ['', '!', '\n', 'x']

function* worstCases(length: number): Generator<string> {
  for (const part of REPEATED) {
    const text = part.repeat(Math.ceil(length / part.length)).slice(0, length - 1)
    for (const end of ENDS) yield text + end
  }
  yield `a@${'a.'.repeat(length / 2)}`
  yield `postgres://u:${'@'.repeat(length)}`
  yield `LPA:1$${'a.'.repeat(length / 4)}$${'A-'.repeat(length / 4)}`
}

const bytes = (read: (body: Buffer) => unknown) => (text: string) => read(Buffer.from(text))
const headersOf = (value: string) => ({
  'rt-accesscode': value,
  'rt-requestid': value,
  'rt-timestamp': value,
  'x-signature': value,
})

const PARSERS: [subject: string, limit: number, parse: (text: string) => unknown][] = [
  ['a request body', BODY, bytes(contract.parseStrictJson)],
  ['an RT request body', BODY, bytes(parseBody)],
  ['the headers of a signed request', HEADER, (text) => contract.checkRequestHeaders(headersOf(text))],
  ['an amount', HEADER, contract.parseMoney],
  ['an ICCID', HEADER, (text) => contract.isIccid(contract.stripIccidPadding(text))],
  ['an activation code', HEADER, contract.parseActivationCode],
  ['a day or time', HEADER, parseDateOrTime],
  ['a language tag', HEADER, (text) => contract.parseRequest('location/list', { language: text })],
  ['a callback URL', BODY, (text) => contract.parseRequest('webhook/set', { callbackUrl: text })],
  ['a cursor', HEADER, (text) => readCursor(Buffer.alloc(32), { list: 'l', tenantId: 't', filters: {} }, text)],
  ['an address', HEADER, parseExactAddress],
  ['an address or block', HEADER, isAddressOrBlock],
  ['X-Forwarded-For', HEADER, canonical],
  ['an allowlist', BODY, (text) => parseAllowlist([text])],
  ['a name', BODY, (text) => parseLine(text, { min: 1, max: 200 })],
  ['an e-mail address', BODY, isEmailAddress],
  ['the domain of an OpenID Connect claim', HEADER, domainOf],
  ['a receipt’s name', BODY, (fileName) => parseReceipt({ fileName, content: btoa('%PDF-') })],
  ['a receipt', LONG, (content) => parseReceipt({ fileName: 'a.pdf', content })],
  ['a cell of a CSV file', LONG, (cell) => escapeFormula(unescapeFormula(cell))],
  ['a header of a file', LONG, headerKey],
  ['a map of columns', LONG, parseColumnMap],
  ['a supplier’s JSON', LONG, parseObject],
  ['a supplier’s amount', HEADER, amountOf],
  ['a supplier’s date', LONG, dateOf],
  ['a supplier’s ICCID', LONG, (iccid) => iccidOf({ iccid })],
  ['a supplier’s text', LONG, isText],
  ['a supplier’s message', LONG, (message) => failureText(new Error(message))],
  ['an SM-DP+’s answer', 65_536, bytes(quoteOf)],
  ['an answer of eSIM Access', 65_536, (text) => parseAnswer(200, text)],
  ['a receiver’s answer', 65_536, bytes(firstLineOf)],
  ['a stored URL', 8_192, maskedUrl],
  ['a dealer’s list of orders', LONG, (text) => contract.parseOwnOrders(`transactionId,amount\n${text}`, 'orders.csv')],
  ['a document', LONG, styleOf],
  ['DATABASE_URL', HEADER, parseDatabaseUrl],
  ['SMTP_URL', HEADER, smtpUrl],
  ['MAIL_FROM', HEADER, mailAddress],
  ['OPERATOR_EMAIL', HEADER, mailAddresses],
  ['OIDC_ISSUER', HEADER, issuer],
  ['OIDC_DOMAINS', HEADER, domains],
  ['OIDC_ROLES', HEADER, groupRoles],
  ['MASTER_KEY', HEADER, masterKey],
]

it.each(PARSERS)('%s takes linear time', (_, limit, parse) => {
  let slowest = { ms: 0, text: '' }
  for (const text of worstCases(limit)) {
    const before = process.cpuUsage()
    try {
      parse(text)
    } catch {
      // Most of these texts are refused.
    }
    const { user, system } = process.cpuUsage(before)
    const ms = (user + system) / 1000
    if (ms > slowest.ms) slowest = { ms, text: text.slice(0, 40) }
    if (ms > CPU_MAX_MS) break
  }
  expect(slowest.ms, `for ${JSON.stringify(slowest.text)}…`).toBeLessThan(CPU_MAX_MS)
})

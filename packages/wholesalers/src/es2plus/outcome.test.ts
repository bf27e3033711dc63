import type { OutboundOutcome } from '@dealer-esim/lib/outbound/outbound.ts'
import { describe, expect, it } from 'vitest'
import { type AnswerRules, resultOf } from './outcome.ts'

const answer = (status: number, body: unknown): OutboundOutcome => ({
  kind: 'answer',
  status,
  headers: {},
  truncated: false,
  address: '192.0.2.1',
  body: Buffer.from(typeof body === 'string' ? body : JSON.stringify(body)),
})
const executed = (status: string, code?: string | unknown[], message?: unknown) => {
  const [subjectCode, reasonCode] = typeof code === 'string' ? code.split('/') : (code ?? [])
  const statusCodeData = code === undefined ? {} : { statusCodeData: { subjectCode, reasonCode, message } }
  return answer(200, { header: { functionExecutionStatus: { status, ...statusCodeData } } })
}
const read = (outcome: OutboundOutcome, iccidChosen = true, rules: Partial<AnswerRules> = {}) =>
  resultOf(outcome, { iccidChosen, ...rules })
const failed = (code: string) => executed('Failed', code)
const broken = (sent: boolean): OutboundOutcome => ({
  kind: 'failed',
  phase: sent ? 'time-out' : 'connect',
  sent,
  message: 'it broke',
})

/** The table above resultOf, row by row: the result with an ICCID of ours, and with one from the SM-DP+. */
const TABLE: [row: string, outcome: OutboundOutcome, chosen: string, notChosen: string][] = [
  ['Executed-Success', executed('Executed-Success'), 'done', 'done'],
  ['Executed-WithWarning', executed('Executed-WithWarning', '8.2.1/4.3'), 'done', 'done'],
  ['no profile of this type left', failed('8.2.5/3.7'), 'refused', 'refused'],
  ['profile type unknown', failed('8.2.5/3.9'), 'refused', 'refused'],
  ['requester unknown', failed('1.1/1.1'), 'refused', 'refused'],
  ['requester not allowed', failed('8.2.5/1.2'), 'refused', 'refused'],
  ['invalid', failed('8.2.6/2.1'), 'refused', 'refused'],
  ['mandatory element missing', failed('1.6/2.2'), 'refused', 'refused'],
  ['conditional element missing', failed('8.2.1/2.3'), 'refused', 'refused'],
  ['execution error', failed('1.2/4.2'), 'retry', 'unknown'],
  ['inaccessible', failed('8.9/5.1'), 'retry', 'unknown'],
  ['ICCID in use', failed('8.2.1/3.3'), 'unknown', 'unknown'],
  ['ICCID unknown', failed('8.2.1/3.9'), 'unknown', 'unknown'],
  ['none left, for another subject', failed('8.2.1/3.7'), 'unknown', 'unknown'],
  ['profile type refused', failed('8.2.5/3.8'), 'unknown', 'unknown'],
  ['busy', failed('1.2/4.4'), 'unknown', 'unknown'],
  ['a longer reason that begins like a known one', failed('8.2.1/1.10'), 'unknown', 'unknown'],
  ['no code at all', executed('Failed'), 'unknown', 'unknown'],
  ['Expired with any code', executed('Expired', '8.2.5/3.7'), 'unknown', 'unknown'],
  ['an unknown status', executed('Pending'), 'unknown', 'unknown'],
  ['a reason that is a number', executed('Failed', ['8.2.5', 3.7]), 'refused', 'refused'],
  ['codes that are objects and arrays', executed('Failed', [{}, ['3.7']]), 'unknown', 'unknown'],
  ['a refusal whose message is not text', executed('Failed', '8.2.5/3.7', { en: 'none left' }), 'refused', 'refused'],
  ['a status that is null', answer(200, { header: { functionExecutionStatus: null } }), 'unknown', 'unknown'],
  ['HTTP 400', answer(400, {}), 'retry', 'retry'],
  ['HTTP 403', answer(403, 'forbidden'), 'retry', 'retry'],
  ['HTTP 408', answer(408, {}), 'unknown', 'unknown'],
  ['HTTP 500 with a refusal in it', answer(500, { header: {} }), 'unknown', 'unknown'],
  ['HTTP 503', answer(503, ''), 'unknown', 'unknown'],
  ['HTTP 200 without JSON', answer(200, '<html>'), 'unknown', 'unknown'],
  ['HTTP 200 with a list', answer(200, []), 'unknown', 'unknown'],
  ['HTTP 200 without a status', answer(200, { header: {}, iccid: '8985222000000000001' }), 'unknown', 'unknown'],
  ['HTTP 204', answer(204, ''), 'unknown', 'unknown'],
  ['HTTP 302', answer(302, ''), 'unknown', 'unknown'],
  ['failed before it was sent', broken(false), 'retry', 'retry'],
  ['failed after, or too late', broken(true), 'unknown', 'unknown'],
]

it.each(TABLE)('%s', (_, outcome, chosen, notChosen) => {
  expect([read(outcome, true).kind, read(outcome, false).kind]).toEqual([chosen, notChosen])
})

it('a missing or foreign answer counts for the breaker, but an answer from the SM-DP+ does not', () => {
  const isDown = (outcome: OutboundOutcome) => 'down' in read(outcome, false)
  expect([broken(true), broken(false), answer(500, {}), answer(404, '')].map(isDown)).toEqual([true, true, true, true])
  expect([failed('8.2.5/3.7'), failed('1.2/4.2'), answer(200, '<html>')].map(isDown)).toEqual([false, false, false])
})

it('a result contains the code for repeats, and the message for operators, truncated if it is too long', () => {
  const result = read(executed('Failed', '8.2.1/3.3', 'x'.repeat(1_000)))
  expect(result).toMatchObject({ code: '8.2.1/3.3', message: `Failed 8.2.1/3.3: ${'x'.repeat(200)}` })
})

it('members of an answer are read as texts: exact numbers are converted, other values are ignored', () => {
  const bodyOf = (members: object) => {
    const result = read(
      answer(200, { header: { functionExecutionStatus: { status: 'Executed-Success' } }, ...members }),
    )
    return result.kind === 'done' && result.body
  }
  const texts = { iccid: '8985222000000000001F', matchingId: 'M-1', smdpAddress: 'smdp.example.com' }
  expect(bodyOf({ ...texts, eid: 'ignored' })).toEqual(texts)
  expect(
    bodyOf({ iccid: Number(texts.iccid.slice(0, -1)), matchingId: 4711, smdpAddress: { host: 'a.example' } }),
  ).toEqual({
    matchingId: '4711',
  })
})

it('Failed is definite if the supplier is set so, unless the code may result from our earlier call', () => {
  const kindOf = (code: string) => read(failed(code), false, { failedIsDefinite: true }).kind
  expect(['8.2.1/3.7', '8.2.5/3.8', '1.2/4.4', '8.2.5/3.7'].map(kindOf)).toEqual(Array(4).fill('refused'))
  expect(['1.2/4.2', '8.9/5.1'].map(kindOf)).toEqual(['retry', 'retry'])
  const earlier = ['8.2.1/3.3', '8.2.6/3.3', '8.2.1/3.5', '8.2.1/3.9', '8.2.6/3.9', '8.2.6/3.10']
  expect(earlier.map(kindOf)).toEqual(Array(6).fill('unknown'))
  for (const outcome of [executed('Expired', '8.2.5/3.7'), broken(true), answer(500, {})]) {
    expect(read(outcome, false, { failedIsDefinite: true }).kind).toBe('unknown')
  }
})

describe('an answer without a header', () => {
  const iccid = '8985222000000000019F'
  const statusCodeData = { subjectCode: '8.2.5', reasonCode: '3.7' }
  it.each<[string, unknown, AnswerRules['member'], string]>([
    [
      'with the status as a member',
      { functionExecutionStatus: { status: 'Executed-Success' }, iccid },
      'iccid',
      'done',
    ],
    ['with its parts as members', { status: 'Failed', statusCodeData }, 'iccid', 'refused'],
    ['with an ICCID', { iccid }, 'iccid', 'done'],
    ['with something else than an ICCID', { iccid: 'none' }, 'iccid', 'unknown'],
    ['with an ICCID where a matching id is due', { iccid }, 'matchingId', 'unknown'],
    ['with a matching id', { matchingId: 'M-1' }, 'matchingId', 'done'],
    ['that is empty, of a function without a member', {}, undefined, 'done'],
    ['that is empty, of DownloadOrder', {}, 'iccid', 'unknown'],
    ['with a member that we do not know, of a function without one', { error: 'x' }, undefined, 'unknown'],
    ['that is a list', [], undefined, 'unknown'],
  ])('%s', (_, body, member, kind) => {
    const rules = member === undefined ? {} : { member }
    expect(read(answer(200, body), true, { answersWithoutHeader: true, ...rules }).kind).toBe(kind)
    expect(read(answer(200, body), true, rules).kind).toBe('unknown')
  })

  it('does not count as done with an HTTP status other than 200', () => {
    expect(read(answer(202, { iccid }), true, { answersWithoutHeader: true, member: 'iccid' }).kind).toBe('unknown')
  })
})

it.each([
  [502, '<html>\r\n<title>Bad gateway</title>', 'HTTP 502: “<html>”'],
  [404, '\n\n  No such path  \nmore', 'HTTP 404: not accepted: “No such path”'],
  [200, 'Service is in maintenance', 'HTTP 200 without an ES2+ answer: “Service is in maintenance”'],
  [200, `\u001b[31m${'x'.repeat(500)}`, `HTTP 200 without an ES2+ answer: “[31m${'x'.repeat(96)}…”`],
  [200, '   ', 'HTTP 200 without an ES2+ answer'],
  [200, 'LPA:1$smdp.example.com$SECRET', 'HTTP 200 without an ES2+ answer'],
  [503, { error: 'busy' }, 'HTTP 503'],
])('the first line of a non-JSON answer is quoted: %s %j', (status, body, message) => {
  expect(read(answer(status, body))).toMatchObject({ message })
})

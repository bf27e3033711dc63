import type { ProfileRow } from '@dealer-esim/gateway/http/console/esims/esims.ts'
import { expect, it } from 'vitest'
import { chooseTargets, pairsOf, progressText, type Result, TAKEN } from './send-pairs.ts'

const esim = (profileId: string, more: Partial<ProfileRow> = {}) =>
  ({
    ...{
      profileId,
      entryNo: 1,
      itemNo: 1,
      esimStatus: 'GOT_RESOURCE',
      smdpStatus: 'RELEASED',
      sendStatus: null,
      isSent: false,
    },
    ...more,
  }) as ProfileRow
const line = (row: number, email: string, fault: string | null = null) => ({ row, name: null, email, fault })
const given = (pairs: ReturnType<typeof pairsOf>['pairs']) => pairs.map((pair) => [pair.email, pair.esim?.profileId])

it('takes the eSIMs that can be sent, in the order in which they were bought', () => {
  const esims = [
    ...[esim('c', { entryNo: 10 }), esim('b', { entryNo: 9, itemNo: 2 }), esim('a', { entryNo: 9 })],
    ...[esim('sent', { sendStatus: 'SENT', isSent: true }), esim('bounced', { sendStatus: 'FAILED', entryNo: 11 })],
    // Its traveller has it, although a later e-mail has failed.
    esim('sent before', { sendStatus: 'FAILED', isSent: true }),
    ...[esim('installed', { smdpStatus: 'ENABLED' }), esim('ended', { esimStatus: 'CANCEL' })],
  ]
  const { targets, skipped } = chooseTargets(esims)
  expect([targets.map(({ profileId }) => profileId), skipped]).toEqual([['a', 'b', 'c', 'bounced'], 4])
})

it('assigns no eSIM to a faulty line, and says which lines and eSIMs are left', () => {
  const targets = [esim('a'), esim('b')]
  const lines = [line(1, 'x@e.test'), line(2, 'no address', 'bad'), line(3, 'y@e.test'), line(4, 'z@e.test')]
  const { pairs, left } = pairsOf(targets, lines)
  expect(given(pairs).map(([, id]) => id)).toEqual(['a', undefined, 'b', undefined])
  expect([pairs[1]!.fault, pairs[3]!.fault === null, left]).toEqual(['bad', false, 0])
  expect(pairsOf(targets, lines.slice(0, 1)).left).toBe(1)
})

it('never gives an eSIM that was sent to anybody else, however the lines are changed afterwards', () => {
  const targets = [esim('a'), esim('b'), esim('c')]
  const sent = new Map([['a', 'x@e.test']])
  const lines = [line(1, 'new@e.test'), line(2, 'x@e.test'), line(3, 'x@e.test')]
  expect(given(pairsOf(targets, lines, sent).pairs)).toEqual([
    ['new@e.test', 'b'],
    ['x@e.test', 'a'],
    ['x@e.test', 'c'],
  ])
  expect(given(pairsOf(targets, [line(1, 'new@e.test')], sent).pairs)).toEqual([['new@e.test', 'b']])
})

it('gives the line of an eSIM that somebody else has sent the next one', () => {
  const targets = [esim('a'), esim('b'), esim('c')]
  const lines = [line(1, 'x@e.test'), line(2, 'y@e.test')]
  const sent = new Map<string, string | typeof TAKEN>([
    ['a', TAKEN],
    ['b', 'y@e.test'],
  ])
  const { pairs, taken } = pairsOf(targets, lines, sent)
  expect(given(pairs).map(([, id]) => id)).toEqual(['c', 'b'])
  expect(taken).toBe(1)
  const none = pairsOf(targets.slice(0, 2), lines, sent).pairs[0]!
  expect([none.esim, none.fault]).toEqual([undefined, 'No eSIM is left for this line.'])
  const progress = { pairs, results: {}, taken, isReading: false, isSending: false, isDone: false }
  expect(progressText(progress)).toMatch(/^2 lines read, faulty: 0\. Somebody else has already sent 1 of the eSIMs\./)
})

it('says what was read, that e-mails are on their way, and what has become of them', () => {
  const { pairs } = pairsOf([esim('a'), esim('b')], [line(1, 'x@e.test'), line(2, 'none', 'bad'), line(3, 'y@e.test')])
  const [x, , y] = pairs.map(({ key }) => key)
  const textOf = (results: Record<string, Result>, more: object = {}) =>
    progressText({ ...{ pairs, results, taken: 0, isReading: false, isSending: false, isDone: false }, ...more })
  expect(textOf({}, { isReading: true })).toBe('')
  expect(textOf({})).toBe('3 lines read, faulty: 1.')
  expect(textOf({}, { isSending: true })).toBe('The e-mails are being sent.')
  const sent: Result = { sendStatus: 'SENT', isOver: true }
  expect(textOf({ [x!]: sent, [y!]: { sendStatus: 'QUEUED', isOver: true } })).toBe('The e-mails are being sent.')
  const failed: Result = { failure: 'no answer', isOver: false }
  expect(textOf({ [x!]: sent, [y!]: failed })).toBe('3 lines read, faulty: 1. Sent: 1. Failed: 1.')
  const opened: Result = { sendStatus: 'OPENED', isOver: true }
  expect(textOf({ [x!]: sent, [y!]: opened }, { isDone: true })).toBe('Sent: 2. Failed: 0. All e-mails are sent.')
})

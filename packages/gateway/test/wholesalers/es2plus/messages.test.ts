import { isIccid, makeIccid } from '@dealer-esim/contract'
import type { SuppliedEsim, Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { afterAll, beforeEach, describe, expect, it } from 'vitest'
import { createEs2plusTestbed, REQUESTER } from './es2plus-testbed.ts'

const testbed = await createEs2plusTestbed()
const { reconfigure, request, server, supplier } = testbed
afterAll(() => testbed.close())
beforeEach(() => testbed.reset())

let ranges = 0
function range() {
  ranges += 1
  const ends = [ranges * 100, ranges * 100 + 99].map((number) => makeIccid('8985223', number))
  return { iccidRange: { first: ends[0]!, last: ends[1]! } }
}

const names = () => server.requests.map(({ path }) => path.slice(path.lastIndexOf('/') + 1))
const bodies = () => server.requests.map(({ body }) => body)
const header = {
  functionRequesterIdentifier: REQUESTER,
  functionCallIdentifier: expect.stringMatching(/^.{36}$/),
}
const matchingId = expect.stringMatching(/^[A-Z2-9]{6}(-[A-Z2-9]{6}){3}$/)

async function delivered(smdp: Supplier, wanted = request()): Promise<SuppliedEsim> {
  const [outcome] = await smdp.order([wanted])
  if (outcome?.kind !== 'delivered') throw new Error(`${outcome?.kind}`)
  return { ...wanted, iccid: outcome.esim.iccid, matchingId: outcome.esim.matchingId, shown: true }
}

describe('ES2+ messages', () => {
  it('for an order are DownloadOrder and ConfirmOrder with exactly the expected members', async () => {
    const esim = await delivered(await supplier())
    expect(server.requests.map(({ path }) => path)).toEqual([
      '/gsma/rsp2/es2plus/downloadOrder',
      '/gsma/rsp2/es2plus/confirmOrder',
    ])
    expect(bodies()).toEqual([
      { header, profileType: 'TYPE_1' },
      { header, iccid: esim.iccid, matchingId, releaseFlag: true },
    ])
    expect(bodies()[1]!.matchingId).toBe(esim.matchingId)
  })

  it('contain the ICCID if its range is ours, in which case the answer may omit the ICCID', async () => {
    const ours = range()
    const esim = await delivered(await supplier(ours))
    expect(esim.iccid).toBe(ours.iccidRange.first)
    expect(bodies()[0]).toEqual({ header, iccid: esim.iccid, profileType: 'TYPE_1' })
  })

  it('consist of three requests if ConfirmOrder does not release the profile', async () => {
    const esim = await delivered(await supplier({ releaseWithConfirm: false }))
    expect(names()).toEqual(['downloadOrder', 'confirmOrder', 'releaseProfile'])
    expect(bodies()[1]).toEqual({ header, iccid: esim.iccid, matchingId, releaseFlag: false })
    expect(bodies()[2]).toEqual({ header, iccid: esim.iccid })
    expect(server.orders.get(esim.iccid)?.state).toBe('RELEASED')
  })

  it('for a cancellation make the profile available again', async () => {
    const smdp = await supplier()
    const esim = await delivered(smdp)
    expect(await smdp.cancel(esim)).toEqual({ kind: 'cancelled' })
    expect(names().at(-1)).toBe('cancelOrder')
    expect(bodies().at(-1)).toEqual({
      header,
      iccid: esim.iccid,
      matchingId: esim.matchingId,
      finalProfileStatusIndicator: 'Available',
    })
  })

  it('have distinct functionCallIdentifiers', async () => {
    await delivered(await supplier())
    const calls = bodies().map((body) => (body.header as { functionCallIdentifier: string }).functionCallIdentifier)
    expect(new Set(calls).size).toBe(2)
  })

  it.each([
    [undefined, 'gsma/rsp/v2.5.0'],
    ['2.2.0', 'gsma/rsp/v2.2.0'],
    ['v3.1.0', 'gsma/rsp/v3.1.0'],
  ])('state the protocol version %s in X-Admin-Protocol', async (protocolVersion, expected) => {
    await delivered(await supplier(protocolVersion === undefined ? {} : { protocolVersion }))
    for (const { headers } of server.requests) {
      expect(headers).toMatchObject({ 'x-admin-protocol': expected, 'content-type': 'application/json' })
    }
  })
})

describe('ICCIDs', () => {
  it.each([
    ['without padding', undefined, /^\d{19}$/],
    ['without padding', false, /^\d{19}$/],
    ['with padding', true, /^\d{19}F$/],
  ])('are sent %s if iccidPadding is %s, whichever form the answers use', async (_, iccidPadding, form) => {
    for (const pads of [true, false]) {
      for (const ours of [{}, range()]) {
        server.requests.length = 0
        server.padsIccids = pads
        const smdp = await supplier({
          releaseWithConfirm: false,
          ...ours,
          ...(iccidPadding === undefined ? {} : { iccidPadding }),
        })
        const esim = await delivered(smdp)
        await smdp.cancel(esim)
        expect(isIccid(esim.iccid) && !esim.iccid.includes('F')).toBe(true)
        const sent = bodies().flatMap((body) => (body.iccid === undefined ? [] : [body.iccid]))
        expect(sent).toHaveLength('iccidRange' in ours ? 4 : 3)
        for (const iccid of sent) expect(iccid).toMatch(form)
      }
    }
  })

  it('that we chose are kept even if the answer contains a different ICCID', async () => {
    const smdp = await supplier(range())
    const wanted = request()
    const another = makeIccid('8985999', 5)
    server.answers.downloadOrder = { iccid: another }
    const [outcome] = await smdp.order([wanted])
    const ours = String(bodies()[0]!.iccid)
    const message = `DownloadOrder was sent for ICCID ${ours} but answered for ${another}`
    expect(outcome).toEqual({ kind: 'unknown', message })
    expect(names()).toEqual(['downloadOrder'])
    expect(await smdp.query([wanted], 'RESUME')).toMatchObject([{ kind: 'delivered', esim: { iccid: ours } }])
  })

  it('from a range whose ends were moved skip every block of used ICCIDs', async () => {
    const [first, last] = [10_000, 10_049]
    const between = (from: number) => ({
      iccidRange: { first: makeIccid('8985223', from), last: makeIccid('8985223', last) },
    })
    const numbers: number[] = []
    const buy = async (smdp: Supplier, count: number) => {
      for (let n = 0; n < count; n++) numbers.push(Number((await delivered(smdp)).iccid.slice(7, -1)))
    }
    const smdp = await supplier(between(first))
    await buy(smdp, 5)
    await buy(await reconfigure(smdp, between(first + 10)), 5)
    await buy(await reconfigure(smdp, between(first + 1)), 7)
    expect(numbers.splice(0).map((number) => number - first)).toEqual([
      ...[0, 1, 2, 3, 4],
      ...[10, 11, 12, 13, 14],
      ...[5, 6, 7, 8, 9, 15, 16],
    ])
    const both = [await reconfigure(smdp, between(first + 2)), await reconfigure(smdp, between(first + 3))]
    await Promise.all(both.map((one) => buy(one, 5)))
    await buy(smdp, 5)
    expect(new Set(numbers).size).toBe(15)
    expect(Math.min(...numbers)).toBe(first + 17)
    const lastOne = await reconfigure(smdp, between(last))
    await buy(lastOne, 1)
    expect(await lastOne.order([request()])).toEqual([{ kind: 'refused', message: 'the ICCID range is used up' }])
  })
})

describe('a failure reported with HTTP 200', () => {
  it.each([
    ['8.2.5', '3.7', 'refused'],
    ['8.2.5', '3.9', 'refused'],
    ['1.2', '4.2', 'unknown'],
    ['8.2.1', '3.3', 'unknown'],
  ])('%s/%s for DownloadOrder counts as %s', async (subjectCode, reasonCode, kind) => {
    server.fault.downloadOrder = { subjectCode, reasonCode }
    const [outcome] = await (await supplier()).order([request()])
    expect(outcome).toMatchObject({ kind, message: expect.stringContaining(`${subjectCode}/${reasonCode}`) })
    expect(names()).toEqual(['downloadOrder'])
  })

  it('with reason 4.2 allows a repeat with the same ICCID if that ICCID is ours', async () => {
    const smdp = await supplier(range())
    const wanted = request()
    server.fault.downloadOrder = { subjectCode: '1.2', reasonCode: '4.2' }
    expect((await smdp.order([wanted]))[0]?.kind).toBe('retry')
    delete server.fault.downloadOrder
    expect((await smdp.order([wanted]))[0]?.kind).toBe('delivered')
    expect(bodies()[1]!.iccid).toBe(bodies()[0]!.iccid)
  })

  it('with code 8.2.1/3.3 after our DownloadOrder lost its answer leads to the eSIM from that order', async () => {
    const smdp = await supplier(range())
    const wanted = request()
    server.fault.downloadOrder = 'lost'
    expect((await smdp.order([wanted]))[0]?.kind).toBe('unknown')
    delete server.fault.downloadOrder
    const [outcome] = await smdp.query([wanted], 'RESUME')
    expect(outcome).toMatchObject({ kind: 'delivered', esim: { iccid: bodies()[0]!.iccid } })
    expect(server.soldIccids().filter((iccid) => iccid === bodies()[0]!.iccid)).toHaveLength(1)
  })

  describe.each([
    ['8.2.5', '3.7', 'no profile is left, because ours was the last'],
    ['1.2', '1.2', 'our account was closed meanwhile'],
  ])('of %s/%s for a repeated DownloadOrder says nothing about the first (%s)', (subjectCode, reasonCode) => {
    async function repeated(first: 'lost' | 'http-500') {
      const smdp = await supplier(range())
      const wanted = request()
      server.fault.downloadOrder = first
      expect((await smdp.order([wanted]))[0]?.kind).toBe('unknown')
      server.fault.downloadOrder = { subjectCode, reasonCode }
      server.faultsRepeats = true
      return { smdp, wanted, iccid: String(bodies()[0]!.iccid) }
    }
    const last = async ({ smdp, wanted }: Awaited<ReturnType<typeof repeated>>) =>
      (await smdp.query([wanted], 'RESUME'))[0]

    it('an allocated profile is cancelled before the order counts as refused', async () => {
      const order = await repeated('lost')
      expect(server.soldIccids()).toContain(order.iccid)
      expect(await last(order)).toMatchObject({
        kind: 'refused',
        message: expect.stringContaining(`${subjectCode}/${reasonCode}`),
      })
      expect(names()).toEqual(['downloadOrder', 'downloadOrder', 'cancelOrder'])
      expect(server.soldIccids()).not.toContain(order.iccid)
      expect((await last(order))?.kind).toBe('refused')
    })

    it('an ICCID unknown to the SM-DP+ means that no profile was allocated, and is checked again', async () => {
      const order = await repeated('http-500')
      for (let n = 0; n < 2; n++) expect((await last(order))?.kind).toBe('refused')
      expect(names()).toEqual([
        'downloadOrder',
        ...['downloadOrder', 'cancelOrder'],
        ...['downloadOrder', 'cancelOrder'],
      ])
      expect(await order.smdp.query([order.wanted], 'CHECK')).not.toMatchObject([{ kind: 'delivered' }])
    })

    it('the order stays in doubt if the profile cannot be cancelled', async () => {
      const order = await repeated('lost')
      for (const fault of [{ subjectCode, reasonCode: '1.2' }, 'http-500'] as const) {
        server.fault.cancelOrder = fault
        expect((await last(order))?.kind).toBe('unknown')
      }
      delete server.fault.cancelOrder
      expect((await last(order))?.kind).toBe('refused')
      expect(server.soldIccids()).not.toContain(order.iccid)
    })
  })

  it('in ConfirmOrder cancels the profile before the order counts as refused', async () => {
    server.fault.confirmOrder = { subjectCode: '8.2.6', reasonCode: '2.1' }
    const before = server.soldIccids().length
    expect((await (await supplier()).order([request()]))[0]?.kind).toBe('refused')
    expect(names()).toEqual(['downloadOrder', 'confirmOrder', 'cancelOrder'])
    expect(server.soldIccids()).toHaveLength(before)
  })
})

it('a repeated ReleaseProfile shows that the first succeeded if the profile can no longer be released', async () => {
  const smdp = await supplier({ releaseWithConfirm: false })
  const wanted = request()
  server.fault.releaseProfile = 'lost'
  expect((await smdp.order([wanted]))[0]?.kind).toBe('unknown')
  delete server.fault.releaseProfile
  expect((await smdp.query([wanted], 'RESUME'))[0]?.kind).toBe('delivered')
  server.fault.releaseProfile = { subjectCode: '8.2.1', reasonCode: '3.5' }
  expect((await smdp.order([request()]))[0]?.kind).toBe('unknown')
})

describe('a CancelOrder whose answer was lost', () => {
  async function lostCancel(shown: boolean) {
    const smdp = await supplier()
    const esim = { ...(await delivered(smdp)), shown }
    server.fault.cancelOrder = 'lost'
    expect((await smdp.cancel(esim)).kind).toBe('unknown')
    delete server.fault.cancelOrder
    return { smdp, esim }
  }

  it('is confirmed by a repeat if the eSIM was never shown, because nobody can have downloaded it', async () => {
    const { smdp, esim } = await lostCancel(false)
    expect(await smdp.cancel(esim)).toEqual({ kind: 'cancelled' })
    const before = server.requests.length
    expect(await smdp.cancel(esim)).toEqual({ kind: 'cancelled' })
    expect(server.requests).toHaveLength(before)
  })

  it('stays in doubt if the eSIM was shown, because the SM-DP+ may also call an installed eSIM unknown', async () => {
    const { smdp, esim } = await lostCancel(true)
    expect((await smdp.cancel(esim)).kind).toBe('unknown')
  })

  it('is executed by a repeat if the first request never arrived', async () => {
    const smdp = await supplier()
    const esim = await delivered(smdp)
    server.fault.cancelOrder = 'http-500'
    expect((await smdp.cancel(esim)).kind).toBe('unknown')
    delete server.fault.cancelOrder
    expect(await smdp.cancel(esim)).toEqual({ kind: 'cancelled' })
  })

  it('for an order that could not be confirmed ends as a refusal', async () => {
    const smdp = await supplier()
    const wanted = request()
    Object.assign(server.fault, { confirmOrder: { subjectCode: '8.2.6', reasonCode: '2.1' }, cancelOrder: 'lost' })
    expect((await smdp.order([wanted]))[0]?.kind).toBe('unknown')
    delete server.fault.cancelOrder
    expect((await smdp.query([wanted], 'RESUME'))[0]?.kind).toBe('refused')
  })

  it('stays in doubt if a concurrent CancelOrder left nothing to cancel', async () => {
    const smdp = await supplier()
    const esim = await delivered(smdp)
    server.orders.get(esim.iccid)!.state = 'UNAVAILABLE' // by the second, during the first request
    for (let n = 0; n < 2; n++) expect((await smdp.cancel(esim)).kind).toBe('unknown')
    const unseen = { ...(await delivered(smdp)), shown: false }
    server.orders.get(unseen.iccid)!.state = 'UNAVAILABLE'
    expect([(await smdp.cancel(unseen)).kind, (await smdp.cancel(unseen)).kind]).toEqual(['unknown', 'cancelled'])
  })

  it('does not change the eSIM if it was refused', async () => {
    const smdp = await supplier()
    const esim = await delivered(smdp)
    server.orders.get(esim.iccid)!.state = 'INSTALLED'
    for (let n = 0; n < 2; n++) {
      expect(await smdp.cancel(esim)).toMatchObject({ kind: 'refused', message: expect.stringContaining('8.2.1/3.3') })
    }
  })
})

it('an eSIM that an operator recorded under another eSIM’s key is cancelled independently', async () => {
  const smdp = await supplier()
  const wanted = request()
  server.fault.confirmOrder = { subjectCode: '8.2.6', reasonCode: '2.1' }
  expect((await smdp.order([wanted]))[0]?.kind).toBe('refused') // its profile was cancelled
  delete server.fault.confirmOrder
  const { iccid, matchingId } = await delivered(smdp)
  const recorded = { ...wanted, iccid, matchingId, shown: true }
  server.orders.get(iccid)!.state = 'INSTALLED'
  expect(await smdp.cancel(recorded)).toMatchObject({ kind: 'refused' })
  server.orders.get(iccid)!.state = 'RELEASED'
  expect(await smdp.cancel(recorded)).toEqual({ kind: 'cancelled' })
  expect(bodies().at(-1)).toMatchObject({ iccid, matchingId })
  const before = server.requests.length
  expect(await smdp.cancel(recorded)).toEqual({ kind: 'cancelled' })
  expect(server.requests).toHaveLength(before)
})

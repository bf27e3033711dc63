import { describe, expect, it } from 'vitest'
import { queryUsage } from './esim-access/esim-access.ts'
import { readOrders } from './esim-go/lists.ts'
import { reportOn as esimGoReport } from './esim-go/reports.ts'
import { findProfile } from './gateway/actions.ts'
import { outcomeOfOrder as outcomeAtGateway } from './gateway/outcome.ts'
import { isObject } from './members.ts'
import { reportOn as mobimatterReport } from './mobimatter/reports.ts'
import type { ReportOutcome, UnreadableEntry } from './supplier.ts'
import { reportOn as zenditReport } from './zendit/reports.ts'

/* Unreadable parts of one order or one eSIM, at any position: all others are read, and these are reported. */

/** Reports whether the part of a name was read, and which parts were reported. */
interface Read {
  isRead: boolean
  named: readonly unknown[]
}

interface Parts {
  part(name: string): Record<string, unknown>
  /** Values of members that make a part unreadable. */
  odd?: Record<string, unknown[]>
  /** Reads the parts for one name. */
  read(parts: unknown[], name: string): Promise<Read>
}

const NAMES = ['A', 'B', 'C', 'D']
const TIME = '2026-11-25T12:00:00Z'
const iccidOf = (name: string) => `89999000000000000${name.charCodeAt(0)}`
const ESIM = { key: 'KEY', reference: 'R', iccid: iccidOf('A') } as never

const PARTS: Record<string, Parts> = {
  'the lines of an order at eSIM Go': {
    part: (item) => ({ item }),
    odd: { item: [null, 7] },
    async read(lines, name) {
      const order = without(lines, ({ item }) => item !== name && NAMES.includes(String(item)))
      const pages = readOrders(
        { get: dated({ orders: [{ orderReference: 'R', order }], pageCount: 1 }) } as never,
        new Date(0),
      )
      const { value: page } = await pages.next()
      return { isRead: page.orders[0]?.bundle === name, named: page.unreadable }
    },
  },
  'the eSIMs of an order at another gateway': {
    part: (name) => ({ transactionId: 'KEY', iccid: iccidOf(name), smdpAddress: '', matchingId: '', ac: '' }),
    async read(parts, name) {
      const profileList = without(parts, ({ iccid }) => iccid !== iccidOf(name))
      const outcome = (list: unknown[]) => outcomeAtGateway({ transactionId: 'KEY', profileList: list } as never, 'KEY')
      const found = outcome(profileList)
      const alone = outcome(without(parts, () => true))
      return { isRead: found.kind === 'delivered', named: alone.kind === 'unknown' ? [alone.message] : [] }
    },
  },
  'the eSIMs that another gateway lists for an eSIM': {
    part: (name) => ({ transactionId: 'KEY', iccid: iccidOf(name) }),
    async read(profileList, name) {
      const profiles = async () => ({ profileList })
      const upstream = async (send: (client: object) => Promise<unknown>) => ({ value: await send({ profiles }) })
      const found = await findProfile(upstream as never, { key: 'KEY', iccid: iccidOf(name) } as never)
      if ('unreadable' in found) throw new Error(found.unreadable)
      return { isRead: found.profile !== undefined, named: found.oddEntries }
    },
  },
  'the usage of eSIM Access': {
    part: (esimTranNo) => ({ esimTranNo, dataUsage: 1 }),
    async read(esimUsageList, name) {
      const call = async () => ({ kind: 'done' as const, obj: { esimUsageList } })
      const { usage, unreadable: named = [] } = await queryUsage(call, name)
      return { isRead: usage === 1n, named }
    },
  },
  'the bundles of an eSIM at eSIM Go': reported(
    (name) => ({ name, assignments: [{ bundleState: 'active', startTime: startOf(name), endTime: TIME }] }),
    (bundles) => esimGoReport({ get: dated({ bundles }) } as never, ESIM),
  ),
  'the assignments of a bundle at eSIM Go': reported(
    (name) => ({ bundleState: 'active', startTime: startOf(name), endTime: TIME }),
    (assignments) => esimGoReport({ get: dated({ bundles: [{ name: 'B', assignments }] }) } as never, ESIM),
  ),
  'the plans of an eSIM at Zendit': reported(
    (name) => ({ startAt: startOf(name), endAt: TIME }),
    (list) => zenditReport({ get: dated({ list }) } as never, ESIM),
  ),
  'the packages of an eSIM at MobiMatter': reported(
    (name) => ({ activationDate: startOf(name), expirationDate: TIME }),
    (packages) =>
      mobimatterReport(
        { client: { info: dated({ result: { packages } }) }, store: { claimInfo: async () => true } } as never,
        ESIM,
      ),
  ),
}

/** A report is the sum of its parts: its start is that of the earliest one. */
function reported(part: Parts['part'], reportOn: (parts: unknown[]) => Promise<ReportOutcome>): Parts {
  return {
    part,
    async read(parts, name) {
      const earlier = NAMES.slice(0, NAMES.indexOf(name)).map((one) => JSON.stringify(part(one)))
      const outcome = await reportOn(without(parts, (one) => earlier.includes(JSON.stringify(one))))
      const start = outcome.kind === 'reported' ? outcome.report.activateTime : undefined
      const named: UnreadableEntry[] = outcome.unreadable ?? []
      return { isRead: start?.getTime() === Date.parse(startOf(name)), named }
    },
  }
}

/** A different time for each name. */
function startOf(name: string): string {
  return `2026-11-0${name.charCodeAt(0) - 64}T00:00:00Z`
}

function dated(body: object) {
  return async () => ({ kind: 'reply', status: 200, body, retryAfterMs: undefined, time: new Date(TIME) }) as never
}

/** Leaves out objects. */
function without(parts: unknown[], isLeftOut: (part: Record<string, unknown>) => boolean): unknown[] {
  return parts.filter((part) => !isObject(part) || !isLeftOut(part))
}

describe.each(Object.entries(PARTS))('%s', (_, { part, odd = {}, read }) => {
  const members = Object.entries(odd).flatMap(([member, values]) =>
    values.map((value) => ({ ...part('Z'), [member]: value })),
  )
  it.each([null, 7, 'odd', [1], ...members].map((one) => [one]))(
    'with %j at any position are read without that part',
    async (one) => {
      for (let position = 0; position <= NAMES.length; position++) {
        const parts: unknown[] = NAMES.map(part)
        parts.splice(position, 0, one)
        for (const name of NAMES) {
          const { isRead, named } = await read(parts, name)
          expect({ name, isRead }).toEqual({ name, isRead: true })
          expect(named).toHaveLength(1)
        }
      }
    },
  )
})

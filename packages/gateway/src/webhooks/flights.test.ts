import { expect, test } from 'vitest'
import type { ClaimedEvent } from './claim.ts'
import { flightQueue } from './flights.ts'
import { type Lane, newLane } from './lane.ts'
import { ENDPOINT_FLIGHTS_FIRST, FAILING_FLIGHTS_MAX, FLIGHTS_MAX, UNPROVEN_FLIGHTS_MAX } from './limits.ts'

function lane(name: string, events: number, standing: Lane['standing'] = 'PROVEN', cap = 32): Lane {
  const queue = Array.from({ length: events }, () => ({}) as ClaimedEvent)
  return { ...newLane(name), queue, standing, cap }
}

/** Flights that end when the test says so. */
function airport() {
  const begun: { lane: Lane; end(): void }[] = []
  const flights = flightQueue((one) => {
    one.queue.shift()
    const { standing } = one
    begun.push({ lane: one, end: () => flights.ended(one, standing) })
  })
  return { flights, begun }
}

const of = (begun: { lane: Lane }[], wanted: Lane) => begun.filter((flight) => flight.lane === wanted).length

test('a lane never has more flights than its cap', () => {
  const { flights, begun } = airport()
  const one = lane('one', 100, 'PROVEN', 5)
  flights.offer(one)
  expect(begun).toHaveLength(5)
  begun[0]?.end()
  expect(begun).toHaveLength(6)
  expect(one.flying).toBe(5)
})

test('lanes take turns, however long their queues are', () => {
  const { flights, begun } = airport()
  const blocker = Array.from({ length: 16 }, (_, number) => lane(`blocker ${number}`, 32))
  for (const one of blocker) flights.offer(one)
  expect(flights.flying).toBe(FLIGHTS_MAX)
  const long = lane('long', 1_000)
  const short = lane('short', 5)
  flights.offer(long)
  flights.offer(short)
  for (let ended = 0; ended < 10; ended++) begun[ended]?.end()
  expect(of(begun, short)).toBe(5)
  expect(of(begun, long)).toBe(5)
})

test('endpoints that fail leave half of the flights, and new ones a quarter, to those that answer', () => {
  const { flights, begun } = airport()
  for (let number = 0; number < 500; number++) flights.offer(lane(`failing ${number}`, 10, 'FAILING', 2))
  expect(flights.flying).toBe(FAILING_FLIGHTS_MAX)
  for (let number = 0; number < 500; number++) flights.offer(lane(`new ${number}`, 10, 'NEW', ENDPOINT_FLIGHTS_FIRST))
  expect(flights.flying).toBe(UNPROVEN_FLIGHTS_MAX)
  const well = lane('well', 32)
  flights.offer(well)
  expect(of(begun, well)).toBe(32)
})

test('flights are counted right when an endpoint fails or recovers while they are under way', () => {
  const { flights, begun } = airport()
  const one = lane('one', 10, 'PROVEN', 4)
  flights.offer(one)
  one.standing = 'FAILING'
  for (const flight of begun.splice(0)) flight.end()
  one.standing = 'PROVEN'
  while (begun.length > 0) begun.shift()?.end()
  expect(flights.flying).toBe(0)
  expect(one.flying).toBe(0)
})

test('flights that end as they begin, however many lanes have them, are begun one after the other', () => {
  let [depth, deepest] = [0, 0]
  const flights = flightQueue((one) => {
    deepest = Math.max(deepest, ++depth)
    one.queue.shift()
    flights.ended(one, one.standing)
    depth--
  })
  const lanes = Array.from({ length: 500 }, (_, number) => lane(`lane ${number}`, 10))
  for (const one of lanes) flights.offer(one)
  expect(lanes.every((one) => one.queue.length === 0)).toBe(true)
  expect(deepest).toBe(1)
  expect(flights.flying).toBe(0)
})

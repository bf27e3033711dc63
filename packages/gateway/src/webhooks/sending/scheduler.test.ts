import { expect, test } from 'vitest'
import {
  ENDPOINT_IN_FLIGHT_FIRST,
  FAILING_IN_FLIGHT_MAX,
  IN_FLIGHT_MAX,
  UNPROVEN_IN_FLIGHT_MAX,
} from '../webhook-limits.ts'
import type { ClaimedEvent } from './claim-deliveries.ts'
import { createEndpointQueue, type EndpointQueue } from './endpoint-queue.ts'
import { createScheduler } from './scheduler.ts'

function queueOf(
  name: string,
  events: number,
  health: EndpointQueue['health'] = 'PROVEN',
  inFlightMax = 32,
): EndpointQueue {
  const queue = Array.from({ length: events }, () => ({}) as ClaimedEvent)
  return { ...createEndpointQueue(name), queue, health, inFlightMax }
}

/** A scheduler whose requests end when the test ends them. */
function controlledScheduler() {
  const started: { queue: EndpointQueue; end(): void }[] = []
  const scheduler = createScheduler((one) => {
    one.queue.shift()
    const { health } = one
    started.push({ queue: one, end: () => scheduler.finished(one, health) })
  })
  return { scheduler, started }
}

const of = (started: { queue: EndpointQueue }[], wanted: EndpointQueue) =>
  started.filter((request) => request.queue === wanted).length

test('a queue never has more requests in flight than its limit', () => {
  const { scheduler, started } = controlledScheduler()
  const one = queueOf('one', 100, 'PROVEN', 5)
  scheduler.schedule(one)
  expect(started).toHaveLength(5)
  started[0]?.end()
  expect(started).toHaveLength(6)
  expect(one.inFlight).toBe(5)
})

test('queues take turns, however long they are', () => {
  const { scheduler, started } = controlledScheduler()
  const blocker = Array.from({ length: 16 }, (_, number) => queueOf(`blocker ${number}`, 32))
  for (const one of blocker) scheduler.schedule(one)
  expect(scheduler.inFlight).toBe(IN_FLIGHT_MAX)
  const long = queueOf('long', 1_000)
  const short = queueOf('short', 5)
  scheduler.schedule(long)
  scheduler.schedule(short)
  for (let ended = 0; ended < 10; ended++) started[ended]?.end()
  expect(of(started, short)).toBe(5)
  expect(of(started, long)).toBe(5)
})

test('failing endpoints leave half of the capacity, and new ones a quarter, to responsive endpoints', () => {
  const { scheduler, started } = controlledScheduler()
  for (let number = 0; number < 500; number++) scheduler.schedule(queueOf(`failing ${number}`, 10, 'FAILING', 2))
  expect(scheduler.inFlight).toBe(FAILING_IN_FLIGHT_MAX)
  for (let number = 0; number < 500; number++)
    scheduler.schedule(queueOf(`new ${number}`, 10, 'NEW', ENDPOINT_IN_FLIGHT_FIRST))
  expect(scheduler.inFlight).toBe(UNPROVEN_IN_FLIGHT_MAX)
  const well = queueOf('well', 32)
  scheduler.schedule(well)
  expect(of(started, well)).toBe(32)
})

test('requests in flight are counted correctly if an endpoint fails or recovers meanwhile', () => {
  const { scheduler, started } = controlledScheduler()
  const one = queueOf('one', 10, 'PROVEN', 4)
  scheduler.schedule(one)
  one.health = 'FAILING'
  for (const request of started.splice(0)) request.end()
  one.health = 'PROVEN'
  while (started.length > 0) started.shift()?.end()
  expect(scheduler.inFlight).toBe(0)
  expect(one.inFlight).toBe(0)
})

test('requests that finish while they are being started do not cause recursion', () => {
  let [depth, deepest] = [0, 0]
  const scheduler = createScheduler((one) => {
    deepest = Math.max(deepest, ++depth)
    one.queue.shift()
    scheduler.finished(one, one.health)
    depth--
  })
  const queues = Array.from({ length: 500 }, (_, number) => queueOf(`queue ${number}`, 10))
  for (const one of queues) scheduler.schedule(one)
  expect(queues.every((one) => one.queue.length === 0)).toBe(true)
  expect(deepest).toBe(1)
  expect(scheduler.inFlight).toBe(0)
})

import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { ESIM_STATUSES, ORDER_STATUSES } from '@dealer-esim/contract'
import { DELIVERY_STATES } from '@dealer-esim/gateway/webhooks/delivery-state.ts'
import { expect, test } from 'vitest'
import { diagrams } from '#scripts/generate/diagrams.ts'

const images = join(import.meta.dirname, '../docs/images')

test.each([...diagrams()])('docs/images/%s is what `npm run diagrams` writes', (name, svg) => {
  expect(readFileSync(join(images, name), 'utf8')).toBe(svg)
})

test.each([
  ['order-states.svg', ORDER_STATUSES],
  ['esim-states.svg', ESIM_STATUSES],
  ['delivery-states.svg', DELIVERY_STATES],
] as const)('%s has exactly the states of the contract', (name, states) => {
  const shown = [
    ...diagrams()
      .get(name)!
      .matchAll(/<text class="code"[^>]*>([A-Z_]+)</g),
  ].map(([, state]) => state)
  expect(shown.sort()).toEqual([...states].sort())
})

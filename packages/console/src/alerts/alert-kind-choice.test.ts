import { TENANT_ALERT_KINDS } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import { expect, test } from 'vitest'
import { DEALER_ALERT_KINDS } from './alert-kind-choice.ts'

test('a dealer’s users can mute every kind of alert that they receive, and no others', () => {
  expect([...DEALER_ALERT_KINDS].sort()).toEqual([...TENANT_ALERT_KINDS].sort())
})

import { TENANT_ALERT_KINDS } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import { expect, test } from 'vitest'
import { DEALER_ALERT_KINDS } from './alert-kind-choice.ts'

test('a dealer’s users can mute exactly the kinds of alerts that they receive', () => {
  expect([...DEALER_ALERT_KINDS].sort()).toEqual([...TENANT_ALERT_KINDS].sort())
})

import { TENANT_ALERT_KINDS } from '@dealer-esim/gateway/alerts/alert-kinds.ts'
import { expect, test } from 'vitest'
import { DEALER_ALERT_KINDS } from './alert-kind-choice.ts'

test('the alerts that a dealer’s people can mute are exactly those that they get', () => {
  expect([...DEALER_ALERT_KINDS].sort()).toEqual([...TENANT_ALERT_KINDS].sort())
})

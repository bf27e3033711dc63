import { expect, it } from 'vitest'
import { dealerSubmitText, operatorSubmitText } from './action-texts.ts'

// A page that was open before has read it, so that the console has it for every action.
const order = { currencyCode: 'USD', items: [{ itemNo: 2, price: 10_000 }] }

it('only the button of a cancellation promises a refund, also if the order is known', () => {
  const label = (action: 'CANCEL' | 'REVOKE' | 'SUSPEND') => operatorSubmitText({ action, itemNo: 2, order })
  expect(label('CANCEL')).toBe('Cancel and refund USD\u00a01.00')
  expect(label('REVOKE')).toBe('Revoke without refund')
  expect(label('SUSPEND')).toBe('Suspend')
})

it('the button of a cancellation names no amount while the price is unknown', () => {
  expect(operatorSubmitText({ action: 'CANCEL', itemNo: 2, order: undefined })).toBe('Cancel and refund')
  expect(operatorSubmitText({ action: 'CANCEL', itemNo: 1, order })).toBe('Cancel and refund')
})

it('the button of a dealer’s revocation says that nothing is refunded', () => {
  expect(dealerSubmitText('REVOKE')).toBe('Revoke without refund')
  expect(dealerSubmitText('CANCEL')).toBe('Cancel eSIM')
})

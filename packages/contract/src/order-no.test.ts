import { describe, expect, it } from 'vitest'
import { orderIdOf, orderNoOf } from './order-no.ts'

describe('an orderNo', () => {
  it.each([
    ['00000000-0000-0000-0000-000000000000', '00000000000000000000000000'],
    ['ffffffff-ffff-ffff-ffff-ffffffffffff', '7ZZZZZZZZZZZZZZZZZZZZZZZZZ'],
    ['00000000-0000-0000-0000-00000000001f', '0000000000000000000000000Z'],
    ['00000000-0000-0000-0000-000000000020', '00000000000000000000000010'],
    // The example of the ULID specification: 01ARZ3NDEKTSV4RRFFQ69G5FAV.
    ['01563e3a-b5d3-d676-4c61-efb99302bd5b', '01ARZ3NDEKTSV4RRFFQ69G5FAV'],
  ])('for order id %s is %s, and converts back to that id', (orderId, orderNo) => {
    expect(orderNoOf(orderId)).toBe(orderNo)
    expect(orderIdOf(orderNo)).toBe(orderId)
  })

  it.each([
    ['an empty text', ''],
    ['a text that is too short', '01ARZ3NDEKTSV4RRFFQ69G5FA'],
    ['a text that is too long', '01ARZ3NDEKTSV4RRFFQ69G5FAVV'],
    ['a text in lower case', '01ARZ3NDEKTSV4RRFFQ69G5FAV'.toLowerCase()],
    ['a text with a letter that Crockford leaves out', '01ARZ3NDEKTSV4RRFFQ69G5FAI'],
    ['a number of more than 128 bits', '80000000000000000000000000'],
    ['a text that ends with a line break', '01ARZ3NDEKTSV4RRFFQ69G5FAV\n'],
  ])('is not recognised if the text is %s', (_, text) => {
    expect(orderIdOf(text)).toBeUndefined()
  })
})

import { describe, expect, it } from 'vitest'
import { networkKey } from './address-blocks.ts'

describe('an address’s network', () => {
  it.each([
    ['203.0.113.7', '203.0.113.7'],
    ['::1', '0:0:0:0'],
    ['::', '0:0:0:0'],
    ['2001:db8::1', '2001:db8:0:0'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2'],
    ['2001:db8:1:2::', '2001:db8:1:2'],
    ['2001:db8:0:2::6', '2001:db8:0:2'],
    ['1::2:3:4:5:6:7', '1:0:2:3'],
  ])('for %s is %s', (address, network) => expect(networkKey(address)).toBe(network))
})

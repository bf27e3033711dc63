import { expect, test } from 'vitest'
import { parseSupplierConfig, SUPPLIER_TYPES } from '#suppliers/create-supplier.ts'
import { SUPPLIER_EXAMPLES, supplierExamplesText } from './supplier-examples.ts'

test.each(SUPPLIER_TYPES)('the example for type %s is a valid configuration and appears in the help', (type) => {
  expect(parseSupplierConfig(type, SUPPLIER_EXAMPLES[type])).toBe(SUPPLIER_EXAMPLES[type])
  expect(supplierExamplesText()).toContain(`  ${type.padEnd(12)} {`)
})

import { expect, test } from 'vitest'
import { parseSupplierConfig, SUPPLIER_TYPES } from '#suppliers/create-supplier.ts'
import { SUPPLIER_EXAMPLES, supplierExamplesText } from './supplier-examples.ts'

test.each(SUPPLIER_TYPES)('the example of type %s is a valid configuration, and the help shows it', (type) => {
  expect(parseSupplierConfig(type, SUPPLIER_EXAMPLES[type])).toBe(SUPPLIER_EXAMPLES[type])
  expect(supplierExamplesText()).toContain(`  ${type.padEnd(12)} {`)
})

import { expect, it } from 'vitest'
import { errorFile } from './import-files.ts'

it('an error file lists the position, package and value of each error, with formulas escaped', () => {
  const error = { row: 2, column: 'price:USD', packageCode: 'JP_1_7', value: '=1+2;=3', reason: 'Say "4.50".' }
  const [head, line] = errorFile([error]).replace('\uFEFF', '').split('\r\n')
  expect(head).toBe('"row","column","packageCode","value","reason"')
  expect(line).toBe('"2","price:USD","JP_1_7","\'=1+2 =3","Say ""4.50""."')
})

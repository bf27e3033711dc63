import { expect, it } from 'vitest'
import { usedParts } from '../../light-libraries.ts'

it('parts of library components that a library shows by itself stay in the build', () => {
  const used = usedParts()
  // Checkboxes and radio buttons show these, from outside of the library's components.
  expect(used).toContain('Input.Description')
  expect(used).toContain('Input.Error')
  expect(used).toContain('Combobox.EventsTarget')
  expect(used).toContain('Menu.Item')
})

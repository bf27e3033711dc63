import { expect, it } from 'vitest'
import { LINES_MAX, readTravellers } from './traveller-list.ts'

const read = (text: string) => readTravellers(Buffer.from(text))
const lineTexts = async (text: string) => {
  const { lines, refusal } = await read(text)
  return refusal ?? lines.map(({ row, name, email, fault }) => [row, name, email, fault])
}
const MEI = [1, 'Mei Tanaka', 'mei@example.com', null]

it.each([
  ['commas', 'Mei Tanaka, mei@example.com\nLi, li@example.com'],
  ['tabs of a spreadsheet', 'Mei Tanaka\tmei@example.com\r\nLi\tli@example.com\r\n'],
  ['semicolons, address first', 'mei@example.com;Mei Tanaka\nli@example.com;Li\n'],
  ['quotes', '"Mei Tanaka","mei@example.com"\nLi,li@example.com'],
])('reads a pasted list with %s and without column names', async (_, text) => {
  expect(await lineTexts(text)).toEqual([MEI, [2, 'Li', 'li@example.com', null]])
})

it('reads addresses alone, and a file with column names in its own order', async () => {
  expect(await lineTexts('mei@example.com\n\nli@example.com')).toEqual([
    [1, null, 'mei@example.com', null],
    [3, null, 'li@example.com', null],
  ])
  expect(await lineTexts('E-Mail;Name\nmei@example.com;Mei Tanaka')).toEqual([[2, ...MEI.slice(1)]])
})

it('names what is wrong with each line, and reads the others', async () => {
  const lines = await lineTexts(
    `Mei Tanaka, mei@example.com\nLi, li at example.com\nOnly a name\nAnna,\n${'n'.repeat(81)}, a@example.com`,
  )
  expect(lines).toMatchObject([
    MEI,
    [2, 'Li', 'li at example.com', '“li at example.com” is not an e-mail address.'],
    [3, 'Only a name', '', expect.stringMatching(/^The row has 1 cells/)],
    [4, 'Anna', '', 'The e-mail address is missing.'],
    [5, expect.any(String), 'a@example.com', 'The name is longer than 80 characters.'],
  ])
})

it('asks for columns that it does not know, and refuses what it cannot read', async () => {
  const { question, lines } = await read('Guest,Contact\nMei,mei@example.com')
  expect([question?.kind, lines]).toEqual(['COLUMNS', []])
  expect(await lineTexts('')).toMatch(/empty/)
  const many = Array.from({ length: LINES_MAX + 1 }, (_, index) => `t${index}@example.com`).join('\n')
  const { lines: first, refusal } = await read(many)
  expect([first.length, refusal]).toEqual([LINES_MAX, expect.stringMatching(/at most 200/)])
})

const LIST = 'Mei Tanaka,mei@example.com\nLi,li@example.com\n'
const NO_HEADER = /^Add a first row with the column names: name, email\./

it.each([
  ['a byte-order mark', `\uFEFF${LIST}`],
  ['white space first', ` \n${LIST}`],
])('reads a list without column names that begins with %s', async (_, text) => {
  expect((await read(text)).lines).toMatchObject([{ email: 'mei@example.com' }, { email: 'li@example.com' }])
})

it.each([
  ['three cells', Buffer.from('Mei,Tanaka,mei@example.com\nLi,Wei,li@example.com'), NO_HEADER],
  ['two addresses', Buffer.from('mei@example.com,mei@example.org\nli@example.com,li@example.org'), NO_HEADER],
  ['UTF-16', Buffer.from(`\uFEFF${LIST}`, 'utf16le'), NO_HEADER],
  ['big-endian UTF-16', Buffer.from(`\uFEFF${LIST}`, 'utf16le').swap16(), NO_HEADER],
  ['a ZIP archive', Buffer.from(`PK\u0003\u0004${LIST}`), /ZIP archive/],
  ['a PDF', Buffer.from(`%PDF-1.7 ${LIST}`), /PDF/],
])('makes no traveller a column name: %s', async (_, file, refusal) => {
  expect(await readTravellers(file)).toEqual({ lines: [], refusal: expect.stringMatching(refusal), question: null })
})

it('reads column names in UTF-16', async () => {
  const { lines } = await readTravellers(Buffer.from(`\uFEFFname,email\n${LIST}`, 'utf16le'))
  expect(lines.map(({ row, email }) => [row, email])).toEqual([
    [2, 'mei@example.com'],
    [3, 'li@example.com'],
  ])
})

it.each([
  '1,mei@example.com',
  'Mei<mei@example.com>',
  'group:mei@example.com;',
  '"mei"@example.com',
  'mei@[192.0.2.1]',
])('refuses %s, which a header of an e-mail reads as something else', async (email) => {
  const { lines } = await read(`name\temail\nMei\t${email.replaceAll('"', '""').replace(/^(.*"".*)$/, '"$1"')}`)
  expect(lines).toMatchObject([{ email, fault: `“${email}” is not an e-mail address.` }])
})

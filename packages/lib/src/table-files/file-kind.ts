/**
 * Recognises files that are not text by their first bytes, because file names say little: people rename files, and portals
 * send HTML as .xls. @returns what the file is and what to do with it; undefined if it may be text
 */
export function findOtherKind(head: Uint8Array): string | undefined {
  const text = Buffer.from(head.subarray(0, HEAD_LENGTH)).toString('latin1')
  const kind = KINDS.find(({ begins }) => text.startsWith(begins))
  if (kind) return kind.advice(text)
  const markup = /^(?:\xEF\xBB\xBF)?\s*<(?:!doctype html|html|table|\?xml)/i.test(text)
  return markup ? `The file is a web page or XML, whatever its name says: ${OPEN_AND_SAVE}` : undefined
}

/** An Excel workbook (.xlsx), which is a ZIP archive. */
export function isWorkbook(head: Uint8Array): boolean {
  const text = Buffer.from(head.subarray(0, HEAD_LENGTH)).toString('latin1')
  return text.startsWith('PK\x03\x04') && !/vnd\.oasis\.|Index\//.test(text) && /\[Content_Types\]\.xml|xl\//.test(text)
}

/** Enough of a file for findOtherKind. */
export const HEAD_LENGTH = 4_096

export const SAVE_AS_CSV =
  'in Excel choose File, Save As, “CSV UTF-8 (Comma delimited)”; in LibreOffice File, Save As, “Text CSV” with the character set UTF-8.'
const OPEN_AND_SAVE = `open it in a spreadsheet, then ${SAVE_AS_CSV}`

const KINDS: readonly { begins: string; advice(text: string): string }[] = [
  { begins: 'PK\x03\x04', advice: zipAdvice },
  { begins: 'PK\x05\x06', advice: () => 'The file is an empty ZIP archive: choose the CSV file.' },
  {
    begins: '\xD0\xCF\x11\xE0',
    advice: () => `The file is an Excel workbook in the old format (.xls), or has a password: ${SAVE_AS_CSV}`,
  },
  { begins: '%PDF', advice: () => 'The file is a PDF: ask its sender for a CSV file.' },
  { begins: '\x1F\x8B', advice: () => 'The file is compressed (.gz): unpack it first.' },
  {
    begins: '{\\rtf',
    advice: () => `The file is a text document (RTF): copy its table into a spreadsheet, then ${SAVE_AS_CSV}`,
  },
]

/** Office programs store documents as ZIP archives, whose first entries show the program. */
function zipAdvice(text: string): string {
  if (text.includes('vnd.oasis.')) return `The file is an OpenDocument spreadsheet (.ods): ${SAVE_AS_CSV}`
  if (text.includes('Index/')) return `The file is a Numbers spreadsheet: choose File, Export To, CSV, Unicode (UTF-8).`
  return 'The file is a ZIP archive: unpack it and choose the CSV file.'
}

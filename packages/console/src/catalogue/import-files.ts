import type { ImportReport } from '@dealer-esim/gateway/catalogue/files/import-packages.ts'

/** A file to start from: one package with a total data volume, and one day pass. */
export const SAMPLE_FILE = [
  'packageCode,name,dataType,volume,duration,locationCodes,price:USD,supplier1,productCode1,costPrice1,costCurrency1,periodNumMin,periodNumMax',
  'SAMPLE_JP_1_7,"Japan, 1 GB, 7 days",TOTAL,1GB,7,JP,4.50,sandbox,SANDBOX_OK,2.70,USD,,',
  'SAMPLE_EU_DAY,"Europe, 500MB/day",DAILY,500MB,1,!RG|DE|FR|IT,1.20,sandbox,SANDBOX_OK,0.60,USD,1,30',
].join('\r\n')

/** The errors of an import as CSV, to correct them in a spreadsheet. */
export function errorFile(errors: ImportReport['errors']): string {
  const lines = errors.map(({ row, column, packageCode, value, reason }) => [row, column, packageCode, value, reason])
  return `\uFEFF${[['row', 'column', 'packageCode', 'value', 'reason'], ...lines]
    .map((cells) => cells.map(cellOf).join(','))
    .join('\r\n')}`
}

/** Spreadsheets run cells that begin like a formula; in some countries a semicolon or a tab begins a cell too. */
function cellOf(value: string | number | null): string {
  const text = String(value ?? '').replaceAll(/[;\t\r\n]+/g, ' ')
  const safe = /^[=+\-@\uFF1D\uFF0B\uFF0D\uFF20]/.test(text) ? `'${text}` : text
  return `"${safe.replaceAll('"', '""')}"`
}

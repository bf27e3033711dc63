import { formatMoney, readVolume, volumeText } from '@dealer-esim/contract'
import type { ImportReport } from '#catalogue/files/import-packages.ts'
import { warningsOf } from '#catalogue/packages/package-difference.ts'
import type { PackageDocument } from '#catalogue/packages/package-document.ts'
import { questionText } from '../kernel/question-text.ts'
import { count, fields, table } from '../kernel/text-table.ts'
import { differenceText } from './difference-text.ts'

export function packageTable(packages: readonly PackageDocument[], lackingMoney: ReadonlySet<string>): string {
  return table(
    packages,
    [
      { title: 'CODE', value: (item) => item.packageCode },
      { title: 'NAME', value: (item) => item.name },
      { title: 'STATUS', value: (item) => statusText(item, lackingMoney.has(item.packageCode)) },
      { title: 'LOCATIONS', value: (item) => locationsText(item.locationCodes) },
      { title: 'PRICE', value: (item) => item.prices.map(priceText).join(', ') },
      { title: 'SUPPLIERS', value: (item) => item.suppliers.map(({ supplier }) => supplier).join(', ') },
    ],
    'No package was found.',
  )
}

export function packageText(item: PackageDocument, lacksMoney: boolean): string {
  return fields([
    ['Code', item.packageCode],
    ['Name', item.name],
    ['Type', item.productFamily === null ? item.packageType : `${item.packageType}, family ${item.productFamily}`],
    ['Slug', item.slug],
    ...(item.description === null ? [] : ([['Description', item.description]] as const)),
    ['Status', statusText(item, lacksMoney)],
    ['Data', `${item.dataType}${item.volume === null ? '' : `, ${volumeText(readVolume(item.volume))}`}`],
    ['Duration', `${daysText(item)} days, ${item.activationPolicy}, to be used within ${item.unusedValidTime} days`],
    ['Locations', item.locationCodes.join(' ')],
    ...(item.speed === null ? [] : ([['Speed', item.speed]] as const)),
    ...(item.fupPolicy === null ? [] : ([['Fair use', item.fupPolicy]] as const)),
    ['eKYC', item.ekycRequired ? 'required' : 'not required'],
    ['SMS', ['none', 'by phone and API', 'by API'][item.smsStatus] ?? ''],
    ['Cancelling', policyText(item.cancelPolicy)],
    ['Prices', item.prices.map(fullPriceText).join('\n') || 'none, so no dealer sees it'],
    ['Suppliers', item.suppliers.map(supplierText).join('\n') || 'none, so it cannot be put on sale'],
    ['Sold at a loss', item.allowLoss ? 'yes' : 'no: a supplier that costs more than the price is skipped'],
  ])
}

function statusText({ status }: PackageDocument, lacksMoney: boolean): string {
  return lacksMoney ? `${status}, not sold: your account at each of its suppliers is out of funds` : status
}

/** The result of an import or a dry run, or its errors. */
export function importText(report: ImportReport, dryRun: boolean): string {
  const counts = `${report.added} added, ${report.changed} changed, ${report.unchanged} unchanged`
  if (report.errorRows > 0) {
    const shown = report.errors.slice(0, ERRORS_SHOWN).map(errorText)
    const more =
      report.errors.length > ERRORS_SHOWN ? [`… these are the first ${ERRORS_SHOWN}; use --json for more`] : []
    const question = report.question ? [questionText(report.question)] : []
    return [`Nothing was changed: ${errorsText(report)}.`, ...shown, ...more, ...question].join('\n')
  }
  // Doubtful changes come first.
  const [marked, others] = [report.changes.filter(isDoubtful), report.changes.filter((one) => !isDoubtful(one))]
  if (!dryRun) {
    const doubts = marked.slice(0, DOUBTS_SHOWN).map(changeText)
    const check =
      report.doubtful === 0 ? [] : [`Check ${count(report.doubtful, 'package')}, marked with “!”.`, ...doubts]
    return [`Imported ${count(report.rows, 'package')}: ${counts}.`, ...check].join('\n')
  }
  const shown = [...marked, ...others].slice(0, CHANGES_SHOWN).map(changeText)
  const more = report.changes.length > CHANGES_SHOWN ? ['… use --json for more'] : []
  const doubtful = report.doubtful === 0 ? [] : [`Check ${count(report.doubtful, 'package')}, marked with “!”.`]
  return [`Dry run: nothing was changed. It would be ${counts}.`, ...doubtful, ...shown, ...more].join('\n')
}

/** A truncated file has an error that does not belong to any row, and possibly no rows at all. */
function errorsText({ errorRows, rows, errors }: ImportReport): string {
  if (rows === 0) return 'the file cannot be read'
  const broken = errors.some(({ column, packageCode }) => column === '' && packageCode === null) ? 1 : 0
  const total = Math.max(rows + broken, errorRows)
  return `${errorRows} of ${count(total, 'row')} ${errorRows === 1 ? 'has' : 'have'} errors`
}

export function unknownSupplierText(name: string): string {
  return `There is no supplier ${name} yet, so its packages cannot be delivered. Add it with: supplier add`
}

const ERRORS_SHOWN = 50
const CHANGES_SHOWN = 100
/** The number shown after an import: its dry run shows more. */
const DOUBTS_SHOWN = 10

function errorText({ row, column, packageCode, value, reason }: ImportReport['errors'][number]): string {
  const where = [row === 0 ? 'file' : `row ${row}`, packageCode, column].filter(Boolean).join(', ')
  const found = value === null || value === '' || reason.includes(value) ? '' : ` Found: “${value}”.`
  return `  ${where}: ${reason}${found}`
}

type Change = ImportReport['changes'][number]

function isDoubtful({ lines }: Change): boolean {
  return warningsOf(lines).length > 0
}

function changeText({ packageCode, change, after, lines }: Change): string {
  const isNew = change === 'ADDED'
  const texts = lines.flatMap(differenceText).filter(({ isMarked }) => isMarked || !isNew)
  const head = isNew ? `  + ${packageCode} ${after.name}` : `  ~ ${packageCode}`
  return [head, ...texts.map(({ message, isMarked }) => `    ${isMarked ? '!' : ' '} ${message}`)].join('\n')
}

const LOCATIONS_SHOWN = 4

function locationsText(codes: readonly string[]): string {
  const more = codes.length - LOCATIONS_SHOWN
  return `${codes.slice(0, LOCATIONS_SHOWN).join(' ')}${more > 0 ? ` +${more}` : ''}`
}

export function priceText({ price, currencyCode }: { price: number | bigint; currencyCode: string }): string {
  return `${formatMoney(price)} ${currencyCode}`
}

function fullPriceText(price: PackageDocument['prices'][number]): string {
  return price.retailPrice === null ? priceText(price) : `${priceText(price)}, retail ${formatMoney(price.retailPrice)}`
}

function supplierText({
  supplier,
  productCode,
  costPrice,
  costCurrency,
}: PackageDocument['suppliers'][number]): string {
  return `${supplier} ${productCode}${costPrice === null ? '' : `, costs ${formatMoney(costPrice)} ${costCurrency}`}`
}

function policyText({ cancellable, withinDays, feePercent }: PackageDocument['cancelPolicy']): string {
  if (!cancellable) return 'not by the dealer'
  const limit = withinDays === null ? 'without a time limit' : `within ${withinDays} days`
  return `${limit}, ${feePercent === 0 ? 'without a fee' : `for ${feePercent} % of the price`}`
}

function daysText({ duration, periodNumMin, periodNumMax }: PackageDocument): string {
  return periodNumMin === null ? String(duration) : `${periodNumMin} to ${periodNumMax}`
}

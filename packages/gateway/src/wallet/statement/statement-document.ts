import { formatMoney } from '@dealer-esim/contract'
import encodeQR from 'qr'
import { escapeHtml } from '#platform/escape-html.ts'
import type { TransferKind } from '../ledger/post.ts'
import type { OperatorDetails } from './operator-details.ts'
import type { MonthStatement } from './statement-month.ts'

export interface DealerDetails extends OperatorDetails {
  clientName: string
}

export interface StatementParts {
  statementNo: string
  issuedAt: Date
  operator: OperatorDetails
  dealer: DealerDetails
  statement: Pick<MonthStatement, 'month' | 'currencyCode' | 'opening' | 'totals' | 'closing' | 'versions'>
  /** The checkpoint of all entries up to the end of the month. */
  note?: string | undefined
}

/** The statement of a month as a self-contained HTML page for A4: without scripts, and with the stylesheet in its head. */
export function statementDocument({
  statementNo,
  issuedAt,
  operator,
  dealer,
  statement,
  note,
}: StatementParts): string {
  const { month, currencyCode, opening, totals, closing, versions } = statement
  const amount = (value: bigint) => `<td class="amount">${formatMoney(value)}</td>`
  const rows = totals
    .filter(({ count }) => count > 0)
    .map(
      ({ kind, count, amount: sum }) =>
        `<tr><td>${KINDS[kind]}</td><td class="amount">${count}</td>${amount(sum)}</tr>`,
    )
  const movements = versions.to - versions.from
  const range = movements === 0n ? 'none' : `${versions.from} to ${versions.to - 1n}`
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Statement ${escapeHtml(statementNo)}</title>
<style>${STATEMENT_STYLE}</style>
</head>
<body>
<main>
<header>
<h1>Account statement</h1>
<p>This is a statement of a prepaid account. It is not a tax invoice.</p>
</header>
<div class="parties">
<section><h2>Issued by</h2>${party(operator)}</section>
<section><h2>Account of</h2>${party({ ...dealer, legalName: dealer.legalName ?? dealer.clientName })}</section>
</div>
<dl>
<div><dt>Statement number</dt><dd>${escapeHtml(statementNo)}</dd></div>
<div><dt>Month (UTC)</dt><dd>${month}</dd></div>
<div><dt>Currency</dt><dd>${currencyCode}</dd></div>
<div><dt>Issued</dt><dd>${issuedAt.toISOString().slice(0, 10)}</dd></div>
<div><dt>Movements</dt><dd>${range}</dd></div>
</dl>
<table>
<thead><tr><th scope="col">Description</th><th scope="col" class="amount">Number</th><th scope="col" class="amount">Amount (${currencyCode})</th></tr></thead>
<tbody>
<tr class="balance"><td>Opening balance</td><td></td>${amount(opening)}</tr>
${rows.join('\n')}
</tbody>
<tfoot><tr class="balance"><td>Closing balance</td><td></td>${amount(closing)}</tr></tfoot>
</table>
${note === undefined ? '' : checkpointPart(note)}<footer><p>Negative amounts were taken from the balance. An order has the number of the movement that debited it: movement 12 is order #12. The list of all movements can be downloaded as CSV on the wallet’s page.</p></footer>
</main>
</body>
</html>
`
}

/** The note as text and as a QR code, which contains the same text. */
function checkpointPart(note: string): string {
  return `<section class="checkpoint"><div><h2>Checkpoint</h2>
<p>The operator’s signature under all entries up to the end of this month. Keep it: “Check my books” on the portal says whether an entry was changed since.</p>
<pre>${escapeHtml(note)}</pre></div>${encodeQR(note, 'svg', { ecc: 'low', border: 4 })}</section>
`
}

const KINDS: Record<TransferKind, string> = {
  TOP_UP: 'Payments credited',
  ORDER: 'Orders of eSIMs',
  ESIM_TOPUP: 'Top-ups of eSIMs',
  REFUND: 'Refunds',
  ADJUSTMENT: 'Adjustments',
}

function party({ legalName, taxId, address }: OperatorDetails): string {
  const lines = [legalName ?? '', ...(address?.split('\n') ?? []), ...(taxId ? [`Tax ID: ${taxId}`] : [])]
  return `<p>${lines.map(escapeHtml).join('<br>')}</p>`
}

/**
 * The stylesheet of a document. The page that shows the document allows the stylesheet by its hash in the content security
 * policy.
 */
export function styleOf(document: string): string {
  const [, style = ''] = document.split('<style>', 2)
  return style.split('</style>', 1)[0] ?? ''
}

const STATEMENT_STYLE = `
@page { size: A4; margin: 20mm; }
body { margin: 0; color: #1a1a1a; background: #fff; font: 11pt/1.5 system-ui, sans-serif; }
main { max-width: 170mm; margin: 0 auto; padding: 10mm; }
h1 { margin: 0; font-size: 20pt; } h2 { margin: 0; font-size: 9pt; color: #555; }
p, dl, dd { margin: 0; overflow-wrap: anywhere; }
.parties { display: flex; flex-wrap: wrap; gap: 8mm; margin: 8mm 0; } .parties section { flex: 1 1 60mm; }
dl { display: flex; flex-wrap: wrap; gap: 4mm 10mm; margin-bottom: 8mm; } dt { font-size: 9pt; color: #555; }
table { width: 100%; border-collapse: collapse; } th, td { padding: 2mm 0; text-align: left; border-bottom: 0.3mm solid #ccc; }
.amount { text-align: right; font-variant-numeric: tabular-nums; } .balance { font-weight: 600; }
.checkpoint { display: flex; gap: 6mm; margin-top: 8mm; font-size: 9pt; break-inside: avoid; } .checkpoint svg { flex: none; width: 36mm; height: 36mm; background: #fff; }
pre { margin: 2mm 0 0; font-size: 7pt; white-space: pre-wrap; overflow-wrap: anywhere; }
footer { margin-top: 8mm; font-size: 9pt; color: #555; }
@media print { main { max-width: none; padding: 0; } tr { break-inside: avoid; } }
`

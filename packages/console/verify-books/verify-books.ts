import { type BooksResult, MalformedOrders, parseOwnOrders, verifyBooksFile } from '@dealer-esim/contract'
import { linesOf } from '../src/wallet/books/file-lines.ts'

/* The page that checks books offline: one HTML file with this script inside. */

const file = element<HTMLInputElement>('file')
const orders = element<HTMLInputElement>('orders')
const key = element<HTMLInputElement>('key')
const note = element<HTMLTextAreaElement>('note')
const output = document.querySelector('output')!

function element<Type extends HTMLElement>(id: string): Type {
  return document.getElementById(id) as Type
}

/** Only the newest check shows its result. */
let checks = 0

async function check(): Promise<void> {
  const [chosen] = file.files ?? []
  const number = ++checks
  if (chosen === undefined) return show({ verdict: '', title: '', facts: [] })
  show({ verdict: '', title: 'Checking …', facts: [] })
  const shown = await judge(chosen)
  if (number === checks) show(shown)
}

interface Shown {
  verdict: string
  title: string
  facts: [name: string, value: string][]
}

async function judge(chosen: File): Promise<Shown> {
  try {
    const [list] = orders.files ?? []
    const pinnedKey = key.value.trim()
    const earlierNote = note.value.trim()
    return describe(
      await verifyBooksFile(linesOf(chosen.stream()), {
        ...(pinnedKey && { remembered: { pinnedKey } }),
        // Copied text often loses its last line end, which is signed.
        ...(earlierNote && { earlierNote: `${earlierNote.replaceAll('\r', '')}\n` }),
        ...(list && { orders: parseOwnOrders(await list.text(), list.name) }),
      }),
    )
  } catch (error) {
    const message = error instanceof MalformedOrders || !isOldBrowser(error) ? (error as Error).message : OLD_BROWSER
    return { verdict: 'CANNOT_TELL', title: 'This check cannot tell', facts: [['Reason', message]] }
  }
}

const OLD_BROWSER =
  'This browser does not know Ed25519 signatures. Use a current version of Chrome, Edge, Firefox or Safari, or dealer-esim audit.'

function isOldBrowser(error: unknown): boolean {
  return error instanceof DOMException && ['NotSupportedError', 'SyntaxError'].includes(error.name)
}

function describe({ verdict, finding, trusted, from, to }: BooksResult): Shown {
  const facts: Shown['facts'] = []
  if (finding) facts.push([finding.entryNo === null ? 'Reason' : `Entry ${finding.entryNo}`, finding.message])
  if (trusted) {
    const { origin, treeSize, createTime } = trusted.checkpoint
    facts.push(['Ledger', origin])
    facts.push(['Checkpoint', `${treeSize} entries, signed ${createTime}`])
    facts.push(['First public key of the operator', trusted.pinnedKey])
  }
  const titles = {
    EQUAL:
      to < from
        ? 'The checkpoint is genuine. The file has no entries.'
        : `Equal: the entries ${from} to ${to} are those that were signed.`,
    DIFFERS: 'The file differs from what was signed.',
    CANNOT_TELL: 'This check cannot tell.',
  }
  return { verdict, title: titles[verdict], facts }
}

function show({ verdict, title, facts }: Shown): void {
  output.dataset.verdict = verdict
  output.replaceChildren()
  if (title === '') return
  output.append(withText('strong', title))
  const list = document.createElement('dl')
  for (const [name, value] of facts) list.append(withText('dt', name), withText('dd', value))
  output.append(list)
}

function withText(tag: string, text: string): HTMLElement {
  const created = document.createElement(tag)
  created.textContent = text
  return created
}

for (const input of [file, orders, key, note]) input.addEventListener('change', () => void check())

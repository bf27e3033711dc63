import { writeFileSync } from 'node:fs'
import { fileURLToPath } from 'node:url'

/** docs/images/*.svg: state diagrams and the way of an order, drawn from the tables below. Readable in light and in dark. */
export function diagrams(): Map<string, string> {
  return new Map([
    ['order-states.svg', stateDiagram(ORDER)],
    ['esim-states.svg', stateDiagram(ESIM)],
    ['delivery-states.svg', stateDiagram(DELIVERY)],
    ['signing.svg', stateDiagram(SIGNING)],
    ['order-way.svg', sequenceDiagram(WAY_OF_AN_ORDER)],
  ])
}

type Side = 'left' | 'right' | 'top' | 'bottom'

interface StateDiagram {
  title: string
  /** Column and row of the grid; `end` is drawn in the accent, `input` without an edge. A note is a second line. */
  boxes: Record<string, { at: [column: number, row: number]; kind?: 'end' | 'input'; name?: string; note?: string }>
  /** Boxes within a dashed frame, to which an arrow can lead as to a box. */
  frames?: Record<string, string[]>
  /** `PAID:right` is the middle of the right edge. */
  arrows: [from: `${string}:${Side}`, to: `${string}:${Side}`, label?: string][]
  columnWidth: number
  rowHeight: number
}

const ORDER: StateDiagram = {
  title: 'States of an order',
  columnWidth: 270,
  rowHeight: 74,
  boxes: {
    PAID: { at: [0, 0.5], note: 'debited once' },
    CANCELLED: { at: [0, 2], kind: 'end', note: 'refunded' },
    ALLOCATING: { at: [1, 0.5], note: 'eSIMs are bought' },
    UNDER_REVIEW: { at: [1, 2], note: 'no clear answer' },
    DELIVERED: { at: [2, 0], kind: 'end', note: 'every eSIM' },
    PARTIALLY_DELIVERED: { at: [2, 1], kind: 'end', note: 'the rest refunded' },
    FAILED: { at: [2, 2], kind: 'end', note: 'everything refunded' },
  },
  frames: { final: ['DELIVERED', 'PARTIALLY_DELIVERED', 'FAILED'] },
  arrows: [
    ['PAID:right', 'ALLOCATING:left'],
    ['PAID:bottom', 'CANCELLED:top', 'by the operator'],
    ['ALLOCATING:right', 'final:left'],
    ['ALLOCATING:bottom', 'UNDER_REVIEW:top'],
    ['UNDER_REVIEW:right', 'final:left'],
  ],
}

const ESIM: StateDiagram = {
  title: 'States of an eSIM',
  columnWidth: 290,
  rowHeight: 74,
  boxes: {
    GOT_RESOURCE: { at: [0, 0.5], note: 'delivered' },
    IN_USE: { at: [1, 0.5], note: 'installed or used' },
    USED_UP: { at: [2, 0], kind: 'end', note: 'no data left' },
    USED_EXPIRED: { at: [2, 1], kind: 'end', note: 'its time is over' },
    UNUSED_EXPIRED: { at: [0, 2.3], kind: 'end', note: 'never used' },
    CANCEL: { at: [1, 2.3], kind: 'end', note: 'refunded' },
    REVOKED: { at: [2, 2.3], kind: 'end', note: 'withdrawn' },
  },
  frames: { used: ['USED_UP', 'USED_EXPIRED'] },
  arrows: [
    ['GOT_RESOURCE:right', 'IN_USE:left'],
    ['IN_USE:right', 'used:left'],
    ['used:top', 'IN_USE:top', 'top-up'],
    ['GOT_RESOURCE:bottom', 'UNUSED_EXPIRED:top'],
    ['GOT_RESOURCE:bottom', 'CANCEL:top', 'esim/cancel'],
    ['IN_USE:bottom', 'REVOKED:top', 'esim/revoke'],
  ],
}

const DELIVERY: StateDiagram = {
  title: 'States of the delivery of an event',
  columnWidth: 300,
  rowHeight: 74,
  boxes: {
    PENDING: { at: [0, 1], note: 'up to 11 attempts' },
    DELIVERED: { at: [1, 0], kind: 'end', note: 'answered with 2xx' },
    DEAD: { at: [1, 1], kind: 'end', note: 'each attempt failed' },
    UNSENT: { at: [1, 2], kind: 'end', note: 'nowhere to send it' },
  },
  frames: { ended: ['DELIVERED', 'DEAD', 'UNSENT'] },
  arrows: [
    ['PENDING:right', 'ended:left'],
    ['ended:bottom', 'PENDING:bottom', 'sent again'],
  ],
}

const SIGNING: StateDiagram = {
  title: 'How a request is signed',
  columnWidth: 230,
  rowHeight: 50,
  boxes: {
    'RT-Timestamp': { at: [0, 0], kind: 'input' },
    'RT-RequestID': { at: [0, 1], kind: 'input' },
    'RT-AccessCode': { at: [0, 2], kind: 'input' },
    body: { at: [0, 3], kind: 'input' },
    text: { at: [1, 1.5], note: 'joined as it is' },
    AppSecret: { at: [2, 0], kind: 'input' },
    hmac: { at: [2, 1.5], name: 'HMAC-SHA256', note: 'as 64 hex digits' },
    'X-Signature': { at: [3, 1.5], kind: 'end' },
  },
  arrows: [
    ['RT-Timestamp:right', 'text:left'],
    ['RT-RequestID:right', 'text:left'],
    ['RT-AccessCode:right', 'text:left'],
    ['body:right', 'text:left'],
    ['text:right', 'hmac:left'],
    ['AppSecret:bottom', 'hmac:top'],
    ['hmac:right', 'X-Signature:left'],
  ],
}

interface SequenceDiagram {
  title: string
  actors: string[]
  /** From one actor to another, or a note at one: `[1, 1, 'debits the balance']`. */
  steps: [from: number, to: number, label: string][]
}

const WAY_OF_AN_ORDER: SequenceDiagram = {
  title: 'The way of an order',
  actors: ['Your program', 'Gateway', 'Supplier', 'Traveller'],
  steps: [
    [0, 1, 'esim/order with a transactionId'],
    [1, 1, 'checks, then debits the balance once'],
    [1, 0, 'PAID: the order is certain'],
    [1, 2, 'buys each eSIM'],
    [2, 1, 'eSIM with its activation code'],
    [1, 0, 'event DELIVERY_UPDATED'],
    [0, 1, 'esim/profile/list'],
    [0, 3, 'QR code or link'],
    [3, 2, 'installs and uses the eSIM'],
    [1, 0, 'events about usage and expiry'],
  ],
}

const STYLE = `<style>
svg { color-scheme: light dark; --ink: #1d2326; --soft: #5b666c; --line: #7c868b; --box: #f3f4f2; --end: #e2f0ec; --accent: #1b6a5c; --ground: #fcfcfb }
@media (prefers-color-scheme: dark) { svg { --ink: #e3e7e6; --soft: #a9b2b8; --line: #7d898e; --box: #1e2427; --end: #16352f; --accent: #6fc7b3; --ground: #15191b } }
text { font: 14px system-ui, -apple-system, "Segoe UI", sans-serif; fill: var(--ink); text-anchor: middle }
.label { font-size: 13px; fill: var(--soft); paint-order: stroke; stroke: var(--ground); stroke-width: 6px; stroke-linejoin: round }
.code { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, monospace; font-size: 13px }
rect { fill: var(--box); stroke: var(--line) }
.end { fill: var(--end); stroke: var(--accent) }
.input { fill: none; stroke: none }
.frame { fill: none; stroke-dasharray: 4 4 }
.note { font-size: 13px; fill: var(--soft) }
.ground { fill: var(--ground); stroke: none }
path { fill: none; stroke: var(--line); stroke-width: 1.5 }
.head { fill: var(--line); stroke: none }
.life { stroke-dasharray: 3 4 }
</style>`

const BOX_HEIGHT = 42
const NOTED_HEIGHT = 52
const LETTER_WIDTH = 8
const MARGIN = 20
/** Room for arrows above and below. */
const TOP = 44

function stateDiagram({ title, boxes, frames = {}, arrows, columnWidth, rowHeight }: StateDiagram): string {
  const shown = Object.entries(boxes).map(([key, box]) => ({ key, name: key, ...box }))
  const letters = (column: number) =>
    Math.max(
      ...shown.filter(({ at }) => at[0] === column).map(({ name, note = '' }) => Math.max(name.length, note.length)),
    )
  const boxesAt = new Map<string, Box>(
    shown.map(({ key, at: [column, row], note }) => {
      const height = note === undefined ? BOX_HEIGHT : NOTED_HEIGHT
      const y = TOP + row * rowHeight + (NOTED_HEIGHT - height) / 2
      return [key, { x: MARGIN + column * columnWidth, y, width: letters(column) * LETTER_WIDTH + 28, height }]
    }),
  )
  const framesAt = Object.entries(frames).map(([key, members]) => [
    key,
    around(members.map((each) => boxesAt.get(each)!)),
  ])
  const placed = new Map<string, Box>([...boxesAt, ...(framesAt as [string, Box][])])
  const all = [...placed.values()]
  const width = Math.max(...all.map((box) => box.x + box.width)) + MARGIN
  const height = Math.max(...all.map((box) => box.y + box.height)) + TOP
  const pointOf = (end: string) => {
    const [name = '', side] = end.split(':')
    const { x, y, width: w, height: h } = placed.get(name)!
    if (side === 'left' || side === 'right') return { side, x: side === 'left' ? x : x + w, y: y + h / 2 }
    return { side, x: x + w / 2, y: side === 'top' ? y : y + h }
  }
  const lines = arrows.map(([from, to, label]) => arrow(pointOf(from), pointOf(to), label ?? ''))
  const edges = framesAt.map(([key]) => rect('frame', placed.get(key as string)!))
  const drawn = shown.map(({ key, name, kind, note }) => {
    const box = placed.get(key)!
    const [x, y] = [box.x + box.width / 2, box.y + (note === undefined ? 26 : 21)]
    const second = note === undefined ? '' : `<text class="note" x="${x}" y="${y + 18}">${note}</text>`
    return `${rect(kind ?? 'state', box)}<text class="code" x="${x}" y="${y}">${name}</text>${second}`
  })
  return svg(title, width, height, [...edges, ...lines, ...drawn])
}

interface Box {
  x: number
  y: number
  width: number
  height: number
}

function around(boxes: readonly Box[]): Box {
  const [x, y] = [Math.min(...boxes.map((box) => box.x)) - 10, Math.min(...boxes.map((box) => box.y)) - 10]
  const right = Math.max(...boxes.map((box) => box.x + box.width)) + 10
  const bottom = Math.max(...boxes.map((box) => box.y + box.height)) + 10
  return { x, y, width: right - x, height: bottom - y }
}

function rect(kind: string, { x, y, width, height }: Box): string {
  return `<rect class="${kind}" x="${x}" y="${y}" width="${width}" height="${height}" rx="8"/>`
}

interface Point {
  side: string | undefined
  x: number
  y: number
}

/** A curve that leaves and reaches each box at a right angle. */
function arrow(from: Point, to: Point, label: string): string {
  const reach = Math.max(28, Math.abs(to.x - from.x) * 0.4)
  const away = ({ side, x, y }: Point) => {
    if (side === 'top' || side === 'bottom')
      return { x, y: y + (side === 'top' ? -1 : 1) * (from.x === to.x ? 10 : 34) }
    return { x: x + (side === 'left' ? -reach : reach), y }
  }
  const [first, second] = [away(from), away(to)]
  const at = (pick: (point: { x: number; y: number }) => number) =>
    (pick(from) + 3 * pick(first) + 3 * pick(second) + pick(to)) / 8
  const text =
    label === ''
      ? ''
      : `<text class="label" x="${round(at(({ x }) => x))}" y="${round(at(({ y }) => y) - 6)}">${label}</text>`
  const curve = `M${from.x} ${from.y}C${first.x} ${first.y} ${second.x} ${second.y} ${to.x} ${to.y}`
  return `<path d="${curve}"/>${head(to)}${text}`
}

function head({ side, x, y }: Point): string {
  const [dx, dy] = { left: [-1, 0], right: [1, 0], top: [0, -1], bottom: [0, 1] }[side as Side]!
  const [backX, backY] = [x + dx! * 9, y + dy! * 9]
  return `<path class="head" d="M${x} ${y}L${backX + dy! * 5} ${backY + dx! * 5}L${backX - dy! * 5} ${backY - dx! * 5}Z"/>`
}

const ACTOR_WIDTH = 150
const ACTOR_GAP = 230
const STEP_HEIGHT = 44

function sequenceDiagram({ title, actors, steps }: SequenceDiagram): string {
  const middle = (actor: number) => MARGIN + ACTOR_WIDTH / 2 + actor * ACTOR_GAP
  const height = MARGIN * 2 + BOX_HEIGHT + (steps.length + 0.6) * STEP_HEIGHT
  const width = middle(actors.length - 1) + ACTOR_WIDTH / 2 + MARGIN
  const heads = actors.map(
    (name, at) =>
      `<path class="life" d="M${middle(at)} ${MARGIN + BOX_HEIGHT}V${height - MARGIN}"/><rect x="${middle(at) - ACTOR_WIDTH / 2}" y="${MARGIN}" width="${ACTOR_WIDTH}" height="${BOX_HEIGHT}" rx="8"/><text x="${middle(at)}" y="${MARGIN + 26}">${name}</text>`,
  )
  const drawn = steps.map(([from, to, label], at) => {
    const y = MARGIN + BOX_HEIGHT + (at + 1) * STEP_HEIGHT
    if (from === to) return `<text class="label" x="${middle(from)}" y="${y + 4}">${label}</text>`
    const end = { side: to > from ? 'left' : 'right', x: middle(to), y }
    const text = `<text class="label" x="${(middle(from) + middle(to)) / 2}" y="${y - 7}">${label}</text>`
    return `<path d="M${middle(from)} ${y}H${middle(to)}"/>${head(end)}${text}`
  })
  return svg(title, width, height, [...heads, ...drawn])
}

function svg(title: string, width: number, height: number, parts: string[]): string {
  const [w, h] = [Math.ceil(width), Math.ceil(height)]
  const open = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${w} ${h}" width="${w}" height="${h}" role="img">`
  return `${open}
<title>${title}</title>
${STYLE}
<rect class="ground" width="${w}" height="${h}"/>
${parts.join('\n')}
</svg>
`
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}

/** npm run diagrams. A test fails while the files differ. */
if (process.argv[1] === fileURLToPath(import.meta.url))
  for (const [name, drawn] of diagrams()) writeFileSync(new URL(`../../docs/images/${name}`, import.meta.url), drawn)

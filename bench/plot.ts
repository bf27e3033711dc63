import { checkMark, type Result } from './compare.ts'

const ROW = 30
const TOP = 64
const LEFT = 310
const TRACK = 420
const RIGHT = 180
const WIDTH = LEFT + TRACK + RIGHT
const GRID = [1 / 16, 1 / 8, 1 / 4, 1 / 2, 1, 2, 4, 8, 16]

const INK = '#1f2937'
const FAINT = '#6b7280'
const GOOD = '#0f766e'
const BAD = '#c2410c'
const PLAIN = '#475569'

/**
 * Draws a row per figure on one logarithmic scale: the median as a dot, the range of the rounds as a line, and in green the
 * part of the scale where the aim is met.
 */
export function plot(results: readonly Result[]): string {
  const values = results.flatMap(({ ratio, aim }) => [ratio.min, ratio.max, aimOf(aim)?.value ?? 1, 1])
  const low = Math.log(Math.min(...values) / 1.35)
  const high = Math.log(Math.max(...values) * 1.35)
  const x = (value: number) => LEFT + ((Math.log(value) - low) / (high - low)) * TRACK
  const bottom = TOP + results.length * ROW
  const grid = GRID.filter((value) => Math.log(value) > low && Math.log(value) < high).map((value) => {
    const isOne = value === 1
    return `<path d="M${coordinate(x(value))} ${TOP - 8}V${bottom}" stroke="${isOne ? '#94a3b8' : '#e5e7eb'}"/>
<text x="${coordinate(x(value))}" y="${TOP - 14}" text-anchor="middle" fill="${FAINT}" font-size="11">${fraction(value)}</text>`
  })
  return `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${WIDTH} ${bottom + 16}" width="${WIDTH}" height="${bottom + 16}" font-family="system-ui, sans-serif" font-size="13" fill="${INK}">
<title>Ratios of the benchmark, ours against the baseline, and their aims</title>
<rect width="100%" height="100%" rx="8" fill="#fff"/>
<text x="20" y="28" font-size="15" font-weight="600">Ours against the baseline, median of rounds</text>
<text x="${WIDTH - 20}" y="28" text-anchor="end" fill="${FAINT}" font-size="11">green: the aim is met</text>
${results.map((result, index) => band(result, TOP + index * ROW, x)).join('\n')}
${grid.join('\n')}
${results.map((result, index) => row(result, TOP + index * ROW, x)).join('\n')}
</svg>
`
}

type Scale = (value: number) => number

function band({ aim }: Result, y: number, x: Scale): string {
  const aimed = aimOf(aim)
  const track = `<rect x="${LEFT}" y="${y + 5}" width="${TRACK}" height="${ROW - 10}" rx="4" fill="#f8fafc"/>`
  if (aimed === undefined) return track
  const [from, to] = aimed.isMin ? [x(aimed.value), LEFT + TRACK] : [LEFT, x(aimed.value)]
  return `${track}
<rect x="${coordinate(from)}" y="${y + 5}" width="${coordinate(to - from)}" height="${ROW - 10}" rx="4" fill="#d1fae5"/>`
}

function row({ name, ratio, aim, met }: Result, y: number, x: Scale): string {
  const middle = y + ROW / 2
  const colour = met === undefined ? PLAIN : met ? GOOD : BAD
  return `<text x="${LEFT - 14}" y="${middle + 4}" text-anchor="end">${name}</text>
<path d="M${coordinate(x(ratio.min))} ${middle}H${coordinate(x(ratio.max))}" stroke="${colour}" stroke-width="3" stroke-linecap="round" opacity="0.45"/>
<circle cx="${coordinate(x(ratio.median))}" cy="${middle}" r="5.5" fill="${colour}"/>
<text x="${LEFT + TRACK + 16}" y="${middle + 4}"><tspan font-weight="600" fill="${colour}">${ratio.median.toFixed(2)}${checkMark(met)}</tspan><tspan fill="${FAINT}" dx="8">${aim && `aim ${aim}`}</tspan></text>`
}

function aimOf(aim: string): { value: number; isMin: boolean } | undefined {
  const [, sign, value] = /^([≥≤]) ([\d.]+)$/.exec(aim) ?? []
  return value === undefined ? undefined : { value: Number(value), isMin: sign === '≥' }
}

function fraction(value: number): string {
  return value < 1 ? `1/${1 / value}` : `${value}`
}

function coordinate(value: number): string {
  return value.toFixed(1)
}

import { type Result, type Spread, show } from './compare.ts'

/** The results as a page. */
export function markdown(results: Result[], settings: string[]): string {
  const rows = results.map((result) => {
    const mark = result.met === undefined ? '' : result.met ? ' ✓' : ' ✗'
    return `| \`${result.name}\` | **${result.ratio.median.toFixed(2)}**${mark} | ${range(result.ratio)} | ${result.aim} | ${show(result.ours.median)} | ${show(result.against.median)} |`
  })
  const notes = results.map((result) => `- \`${result.name}\`: ${[result.what, ...result.notes].join('; ')}.`)
  return `# Results

Written by \`npm run bench -- --write\`. Each ratio is the median of rounds in which ours and the yardstick were measured in
turn on one machine; the absolute figures depend on the machine and mean little without their neighbour.

![Ratios and aims](results.svg)

| figure | ratio | lowest to highest | aim | ours | against |
|---|---|---|---|---|---|
${rows.join('\n')}

${notes.join('\n')}

Measured with: ${settings.join('; ')}.
`
}

function range(spread: Spread): string {
  return `${spread.min.toFixed(2)} to ${spread.max.toFixed(2)}`
}

const BAR_HEIGHT = 22
const LABEL_WIDTH = 150
const PLOT_WIDTH = 460

/** One bar per figure on a logarithmic scale around 1, with its range and its aim. */
export function plot(results: Result[]): string {
  const values = results.flatMap(({ ratio, aim }) => [ratio.min, ratio.max, Number(/[\d.]+/.exec(aim)?.[0] ?? 1), 1])
  const low = Math.log(Math.min(...values) / 1.2)
  const high = Math.log(Math.max(...values) * 1.2)
  const x = (value: number) => LABEL_WIDTH + ((Math.log(value) - low) / (high - low)) * PLOT_WIDTH
  const bars = results.map(({ name, ratio, aim, met }, index) => {
    const y = 30 + index * (BAR_HEIGHT + 10)
    const middle = y + BAR_HEIGHT / 2
    const aimed = Number(/[\d.]+/.exec(aim)?.[0] ?? Number.NaN)
    const left = Math.min(x(1), x(ratio.median))
    const width = Math.abs(x(ratio.median) - x(1))
    const colour = met === false ? '#c2410c' : '#0f766e'
    return `<text x="${LABEL_WIDTH - 10}" y="${middle + 4}" text-anchor="end">${name}</text>
<rect x="${left.toFixed(1)}" y="${y}" width="${width.toFixed(1)}" height="${BAR_HEIGHT}" fill="${colour}" opacity="0.85"/>
<path d="M${x(ratio.min).toFixed(1)} ${middle}H${x(ratio.max).toFixed(1)}" stroke="#111" stroke-width="1.5"/>
${Number.isNaN(aimed) ? '' : `<path d="M${x(aimed).toFixed(1)} ${y - 3}V${y + BAR_HEIGHT + 3}" stroke="#111" stroke-dasharray="3 2"/>`}
<text x="${LABEL_WIDTH + PLOT_WIDTH + 12}" y="${middle + 4}">${ratio.median.toFixed(2)} (aim ${aim})</text>`
  })
  const height = 40 + results.length * (BAR_HEIGHT + 10)
  return `<svg xmlns="http://www.w3.org/2000/svg" width="760" height="${height}" font-family="system-ui, sans-serif" font-size="13">
<rect width="100%" height="100%" fill="#fff"/>
<path d="M${x(1).toFixed(1)} 20V${height - 10}" stroke="#999"/>
<text x="${x(1).toFixed(1)}" y="14" text-anchor="middle" fill="#555">1</text>
${bars.join('\n')}
</svg>
`
}

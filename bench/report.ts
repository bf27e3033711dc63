import { type Result, type Spread, show } from './compare.ts'

/** The results as a page; plot.ts makes its picture. */
export function markdown(results: Result[], settings: string[]): string {
  const rows = results.map((result) => {
    const mark = result.met === undefined ? '' : result.met ? ' ✓' : ' ✗'
    return `| \`${result.name}\` | **${result.ratio.median.toFixed(2)}**${mark} | ${range(result.ratio)} | ${result.aim} | ${show(result.ours.median)} | ${show(result.against.median)} |`
  })
  const told = new Set<string>()
  const notes = results.flatMap((result) => {
    const isNew = !told.has(result.what) || result.notes.length > 0
    told.add(result.what)
    return isNew ? [`- \`${result.name}\`: ${[result.what, ...result.notes].join('; ')}.`] : []
  })
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

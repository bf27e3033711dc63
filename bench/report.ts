import { MEASURED, mark, type Result, type Spread, show } from './compare.ts'

/** The results as a page; plot.ts makes its picture. */
export function markdown(results: Result[], settings: string[]): string {
  const rows = results.map(
    ({ name, ratio, met, aim, ours, against, measured }) =>
      `| \`${name}\` | **${ratio.median.toFixed(2)}**${mark(met)} | ${range(ratio)} | ${aim} | ${show(ours.median)} | ${show(against.median)} | ${measured} |`,
  )
  const ways = [...new Set(results.map(({ measured }) => measured))].map((word) => `- *${word}*: ${MEASURED[word]}.`)
  const told = new Set<string>()
  const notes = results.flatMap((result) => {
    const isNew = !told.has(result.what) || result.notes.length > 0
    told.add(result.what)
    return isNew ? [`- \`${result.name}\`: ${[result.what, ...result.notes].join('; ')}.`] : []
  })
  return `# Results

Written by \`npm run bench -- --write\`. Each ratio is the median of its rounds, all on one machine; the absolute figures
depend on the machine and mean little without their neighbour. The last column says how the two sides were measured.

![Ratios and aims](results.svg)

| figure | ratio | lowest to highest | aim | ours | against | measured |
|---|---|---|---|---|---|---|
${rows.join('\n')}

${ways.join('\n')}

${notes.join('\n')}

Measured with: ${settings.join('; ')}.
`
}

function range(spread: Spread): string {
  return `${spread.min.toFixed(2)} to ${spread.max.toFixed(2)}`
}

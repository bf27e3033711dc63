import { checkMark, formatValue, METHODS, type Result, type Spread } from './compare.ts'

/** The page RESULTS.md; plot.ts draws its picture. */
export function markdown(results: Result[], settings: string[]): string {
  const rows = results.map(
    ({ name, ratio, met, aim, ours, against, measured }) =>
      `| \`${name}\` | **${ratio.median.toFixed(2)}**${checkMark(met)} | ${range(ratio)} | ${aim} | ${formatValue(ours.median)} | ${formatValue(against.median)} | ${measured} |`,
  )
  const methods = [...new Set(results.map(({ measured }) => measured))].map(
    (method) => `- *${method}*: ${METHODS[method]}.`,
  )
  const explained = new Set<string>()
  const notes = results.flatMap((result) => {
    const isNew = !explained.has(result.what) || result.notes.length > 0
    explained.add(result.what)
    return isNew ? [`- \`${result.name}\`: ${[result.what, ...result.notes].join('; ')}.`] : []
  })
  return `# Results

Written by \`npm run bench -- --write\`. Each ratio is the median of its rounds, all on one machine. Absolute figures
depend on the machine: compare them only within a row. The list below the table says what each row measures, and in which unit;
the last column says how.

![Ratios and aims](results.svg)

| figure | ratio | lowest to highest | aim | ours | against | measured |
|---|---|---|---|---|---|---|
${rows.join('\n')}

${methods.join('\n')}

${notes.join('\n')}

Measured with: ${settings.join('; ')}.
`
}

function range(spread: Spread): string {
  return `${spread.min.toFixed(2)} to ${spread.max.toFixed(2)}`
}

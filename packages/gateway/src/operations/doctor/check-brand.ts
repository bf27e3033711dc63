import { brandFor, UNNAMED_OPERATOR } from '#brands/brand.ts'
import type { DatabaseCheckInput, Finding, Findings } from './finding.ts'

/** Checks that dealers and travellers see whose gateway this is, and whom to ask. */
export async function checkBrand(
  { db, config }: Pick<DatabaseCheckInput, 'db' | 'config'>,
  findings: Findings,
): Promise<Finding[]> {
  const brand = await brandFor({ db, links: { publicUrl: '' } }, null, null)
  const missing = [
    ...(brand.name === UNNAMED_OPERATOR ? ['name'] : []),
    ...(brand.supportEmail === undefined ? ['e-mail address for questions'] : []),
    ...(brand.logoLight === undefined && brand.icon === undefined ? ['logo'] : []),
    ...(brand.legalLinks.length === 0 ? ['link to terms or a legal notice'] : []),
  ]
  if (missing.length === 0 || config.deployment === 'local') return [findings.ok(`The brand is ${brand.name}.`)]
  return [findings.warning(`Your brand has no ${missing.join(', no ')}. Set it in the console, on the page Brand.`)]
}

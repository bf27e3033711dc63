// npm run sdks: writes the operations, models and refusals of sdks/ from the contract. A test fails while they differ.
import { writeFileSync } from 'node:fs'
import { pythonSdk } from './python-sdk.ts'

for (const [path, text] of Object.entries(pythonSdk())) {
  writeFileSync(new URL(`../../${path}`, import.meta.url), text)
  console.log(`Wrote ${path}`)
}

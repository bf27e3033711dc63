import { writeFileSync } from 'node:fs'
import { openApiDocument } from '@dealer-esim/contract'

/** npm run openapi: writes docs/openapi.json from the contract. A test fails while the two differ. */
const target = new URL('../docs/openapi.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`)
console.log('Wrote docs/openapi.json')

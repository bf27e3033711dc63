import { writeFileSync } from 'node:fs'
import { openApiDocument } from '@dealer-esim/contract'

/** Writes docs/openapi.json anew from the contract. A test fails while the two differ. */
const target = new URL('../docs/openapi.json', import.meta.url)
writeFileSync(target, `${JSON.stringify(openApiDocument(), null, 2)}\n`)
console.log('docs/openapi.json is written')

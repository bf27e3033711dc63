import { writeFileSync } from 'node:fs'
import { openApiDocument, rtOpenApiDocument } from '@dealer-esim/contract'

/** npm run openapi: writes docs/openapi.json and docs/openapi-rt.json from the contract. A test fails while they differ. */
write('docs/openapi.json', openApiDocument())
write('docs/openapi-rt.json', rtOpenApiDocument())

function write(path: string, document: object): void {
  writeFileSync(new URL(`../../${path}`, import.meta.url), `${JSON.stringify(document, null, 2)}\n`)
  console.log(`Wrote ${path}`)
}

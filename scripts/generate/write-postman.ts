import { writeFileSync } from 'node:fs'
import { postmanCollection, postmanEnvironment } from './postman-collection.ts'

/** npm run postman: writes docs/postman.json and its environment from the contract. A test fails while they differ. */
write('docs/postman.json', postmanCollection())
write('docs/postman-environment.json', postmanEnvironment())

function write(path: string, document: object): void {
  writeFileSync(new URL(`../../${path}`, import.meta.url), `${JSON.stringify(document, null, 2)}\n`)
  console.log(`Wrote ${path}`)
}

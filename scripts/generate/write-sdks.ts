// npm run sdks: writes the operations, models and refusals of sdks/ from the contract, and copies the licence. A test fails while they differ.
import { copyFileSync, mkdirSync, rmSync, writeFileSync } from 'node:fs'
import { PHP_FOLDERS, phpSdk } from './php-sdk.ts'
import { pythonSdk } from './python-sdk.ts'

const at = (path: string) => new URL(`../../${path}`, import.meta.url)
for (const folder of PHP_FOLDERS) {
  rmSync(at(folder), { recursive: true, force: true })
  mkdirSync(at(folder), { recursive: true })
}
for (const language of ['python', 'php']) copyFileSync(at('LICENSE'), at(`sdks/${language}/LICENSE`))
const files = { ...pythonSdk(), ...phpSdk() }
for (const [path, text] of Object.entries(files)) writeFileSync(at(path), text)
console.log(`Wrote ${Object.keys(files).length} files of sdks/`)

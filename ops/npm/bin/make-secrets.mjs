// make-secrets.mjs FOLDER: writes master-key, database-password and database-url there, unless they exist, for compose.yaml.
// Never replaces one: the database is encrypted under the master key.
import { randomBytes } from 'node:crypto'
import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

const [folder = ''] = process.argv.slice(2)
mkdirSync(folder, { recursive: true })

/** @param {string} name @param {string} text */
function make(name, text) {
  const file = join(folder, name)
  if (!existsSync(file)) {
    // Readable by the users of both containers; nothing else mounts the volume.
    writeFileSync(`${file}.new`, text, { mode: 0o444 })
    renameSync(`${file}.new`, file)
    console.log(`made ${name}`)
  }
  return readFileSync(file, 'utf8')
}

make('master-key', randomBytes(32).toString('base64'))
const password = make('database-password', randomBytes(24).toString('base64url'))
make('database-url', `postgres://dealer_esim:${password}@postgres:5432/dealer_esim`)

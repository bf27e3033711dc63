import { appendFileSync } from 'node:fs'
import { Socket } from 'node:net'
import { join } from 'node:path'

/*
 * Records the texts that a process sends to PostgreSQL for preparation, one JSON text per line, in a separate file in the
 * folder STATEMENTS_FOLDER. Tests import it, and `node --import` loads it into their children. It reads the data sent,
 * because the driver is part of the children's bundles. Each text is written immediately, because children are killed.
 */

const LOADED = Symbol.for('record-statements')
const PARSE = 'P'.charCodeAt(0)
const { STATEMENTS_FOLDER } = process.env

if (STATEMENTS_FOLDER !== undefined && !(LOADED in Socket.prototype)) {
  const { write } = Socket.prototype
  const recorded = new Set()
  Socket.prototype[LOADED] = true
  Socket.prototype.write = function (chunk, ...more) {
    const text = preparedText(chunk)
    if (text !== undefined && !recorded.has(text)) {
      recorded.add(text)
      appendFileSync(join(STATEMENTS_FOLDER, String(process.pid)), `${JSON.stringify(text)}\n`)
    }
    return write.call(this, chunk, ...more)
  }
}

/** The text in a Parse message: its type, the length of the rest, the statement's name, and the text. */
function preparedText(chunk) {
  if (!Buffer.isBuffer(chunk) || chunk[0] !== PARSE || chunk.length < 7) return undefined
  if (chunk.readInt32BE(1) !== chunk.length - 1) return undefined
  const from = chunk.indexOf(0, 5) + 1
  return chunk.toString('utf8', from, chunk.indexOf(0, from))
}

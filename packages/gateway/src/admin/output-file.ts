import { createWriteStream } from 'node:fs'
import type { Writable } from 'node:stream'
import { finished } from 'node:stream/promises'

/** Lets `work` write to a file, or to standard output if the file is absent or “-”. Each write waits until it is done. */
export async function writeOutput<Result>(
  file: string | undefined,
  work: (write: (text: string) => Promise<void>) => Promise<Result>,
): Promise<Result> {
  if (file === undefined || file === '-') return work((text) => written(process.stdout, text))
  const target = createWriteStream(file)
  const closed = finished(target)
  closed.catch(() => {}) // handled by the failing write and below
  const result = await work((text) => written(target, text))
  target.end()
  await closed
  return result
}

function written(target: Writable, text: string): Promise<void> {
  return new Promise((resolve, reject) => target.write(text, (error) => (error ? reject(error) : resolve())))
}

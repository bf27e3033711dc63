import { X509Certificate } from 'node:crypto'
import { readFile } from 'node:fs/promises'

/** When the first certificate of a PEM chain ends, in seconds since 1970: the one that is served. */
export async function certificateEnd(file: string): Promise<number> {
  const { validTo } = new X509Certificate(await readFile(file))
  return new Date(validTo).getTime() / 1000
}

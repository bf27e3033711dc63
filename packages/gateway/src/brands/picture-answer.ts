import type { BrandReader } from './brand-source.ts'
import { findPicture } from './list-brands.ts'
import { readPictureName } from './picture-url.ts'

/** What is sent for a picture. It is only ever a picture: nothing in it runs, and no browser takes it for another type. */
const PICTURE_HEADERS = {
  'content-type': 'image/png',
  'content-security-policy': "default-src 'none'; frame-ancestors 'none'; sandbox",
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
  // The address has a hash of the content.
  'cache-control': 'public, max-age=31536000, immutable',
}

/** @param name the last part of a picture's address. @returns undefined if there is no such picture */
export async function pictureAnswer(
  db: BrandReader,
  name: string,
): Promise<{ content: Buffer; headers: Record<string, string> } | undefined> {
  const subject = readPictureName(name)
  const content = subject && (await findPicture(db, subject))
  return content && { content, headers: PICTURE_HEADERS }
}

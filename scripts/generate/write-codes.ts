// npm run codes: writes docs/codes.md and its translation from the code table. A test fails while they differ.
import { createHash } from 'node:crypto'
import { readFileSync, writeFileSync } from 'node:fs'
import { chineseCodesMarkdown, codesMarkdown } from '@dealer-esim/contract/codes-markdown'

const docs = new URL('../../docs/', import.meta.url)
const english = codesMarkdown()
const texts = JSON.parse(readFileSync(new URL('site/codes.zh-Hans.json', docs), 'utf8'))
const hash = createHash('sha256').update(english).digest('hex')
writeFileSync(new URL('codes.md', docs), english)
writeFileSync(new URL('zh-Hans/codes.md', docs), `<!-- English: ${hash} -->\n\n${chineseCodesMarkdown(texts)}`)

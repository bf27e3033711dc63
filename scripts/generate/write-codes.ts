// npm run codes: writes docs/codes.md from the code table. A test fails while the two differ.
import { writeFileSync } from 'node:fs'
import { codesMarkdown } from '@dealer-esim/contract/codes-markdown'

writeFileSync(new URL('../../docs/codes.md', import.meta.url), codesMarkdown())

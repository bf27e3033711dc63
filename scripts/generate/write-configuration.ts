// npm run configuration: writes docs/configuration.md from the table of variables.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { configurationMarkdown } from '@dealer-esim/gateway/platform/config/config-markdown.ts'
import { packageRoot } from '@dealer-esim/gateway/platform/package-root.ts'

writeFileSync(join(packageRoot(), '../../docs/configuration.md'), configurationMarkdown())

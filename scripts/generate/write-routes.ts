// npm run routes: writes packages/gateway/routes.md from the declarations of all APIs. A test fails while the two differ.
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { packageRoot } from '@dealer-esim/gateway/platform/package-root.ts'
import { routesMarkdown } from './routes-markdown.ts'

writeFileSync(join(packageRoot(), 'routes.md'), await routesMarkdown())

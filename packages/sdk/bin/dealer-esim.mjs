#!/usr/bin/env node
import { existsSync } from 'node:fs'

// In a checkout, rebuilds the command line if its sources changed; the published package contains it built.
const build = new URL('../../../scripts/build.mjs', import.meta.url)
if (existsSync(build)) await (await import(build.href)).buildOrExit(['sdk'])
await import('../dist/cli.js')

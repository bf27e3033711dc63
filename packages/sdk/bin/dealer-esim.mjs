#!/usr/bin/env node
import { existsSync } from 'node:fs'

// In the project's checkout the command line follows its sources; the published package holds it built.
const build = new URL('../../../scripts/build.mjs', import.meta.url)
if (existsSync(build)) await (await import(build.href)).buildOrExit(['sdk'])
await import('../dist/cli.js')

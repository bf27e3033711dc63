#!/usr/bin/env node
// Rebuilds the simulators if their sources changed, then runs one.
import { buildOrExit } from '../../../scripts/build.mjs'

await buildOrExit(['wholesaler-simulators'])
await import('../dist/cli.js')

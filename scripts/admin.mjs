// npm run -s admin -- …: runs one admin command, with or without a running gateway. Standard output is only the command's.
import { buildOrExit } from './build.mjs'

process.setSourceMapsEnabled(true)
await buildOrExit(['gateway'])
await import('../packages/gateway/dist/admin.js')

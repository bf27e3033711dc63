// npm run -s admin -- …: one admin command, beside a running gateway or without one. Its standard output is the command's.
import { buildOrExit } from './build.mjs'

process.setSourceMapsEnabled(true)
await buildOrExit(['gateway'])
await import('../packages/gateway/dist/admin.js')

#!/usr/bin/env node
// `npx dealer-esim-admin …` in a checkout: runs one admin command. Rebuilds the command line if its sources changed.
await import('../../../scripts/admin.mjs')

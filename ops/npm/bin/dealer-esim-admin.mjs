#!/usr/bin/env node
await import('../dist/admin.js')

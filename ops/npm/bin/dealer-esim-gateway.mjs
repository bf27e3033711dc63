#!/usr/bin/env -S node --max-semi-space-size=32
await import('../dist/main.js')

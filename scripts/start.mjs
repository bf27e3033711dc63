// npm start: builds if sources have changed, then runs the gateway in this process.
import { buildOrExit } from './build.mjs'

process.setSourceMapsEnabled(true)
await buildOrExit()
await import('../packages/gateway/dist/main.js')

// npm start: builds what its sources have outrun, then becomes the gateway, in this process.
import { buildOrExit } from './build.mjs'

process.setSourceMapsEnabled(true)
await buildOrExit()
await import('../packages/gateway/dist/main.js')

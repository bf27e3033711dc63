// npm run dev: a local gateway that restarts when its code changes, and the console on a development server that replaces
// changed code in the open page. Prints a link that opens the console signed in. Options go to the gateway: npm run dev -- --trial.

import { spawn } from 'node:child_process'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { createServer } from 'vite'

const root = fileURLToPath(new URL('..', import.meta.url))
const dataDir = process.env.DATA_DIR ?? join(root, '.data')
const gatewayUrl = `http://127.0.0.1:${process.env.PORT ?? 8080}`
const consolePort = Number(process.env.CONSOLE_DEV_PORT ?? 5173)
const startedAt = Date.now()

const gateway = spawn(
  process.execPath,
  [
    'node_modules/tsx/dist/cli.mjs',
    'watch',
    '--clear-screen=false',
    'packages/gateway/src/main.ts',
    ...process.argv.slice(2),
  ],
  { cwd: root, stdio: 'inherit', env: { ...process.env, DATA_DIR: dataDir } },
)

process.env.GATEWAY_URL = gatewayUrl
const server = await createServer({
  root: join(root, 'packages/console'),
  server: { host: '127.0.0.1', port: consolePort, strictPort: true },
})
await server.listen()

for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) process.on(signal, () => gateway.kill(signal))
gateway.once('exit', async (code) => {
  await server.close()
  process.exit(code ?? 0)
})

const timer = setInterval(() => {
  const link = signInLink()
  if (link === undefined) return
  clearInterval(timer)
  process.stdout.write(`  Develop at  ${link}\n\n`)
}, 200)

/** @returns {string | undefined} the link of this start, at the development server */
function signInLink() {
  const file = join(dataDir, 'local.json')
  try {
    if (statSync(file).mtimeMs < startedAt) return undefined
    const { signInUrl } = JSON.parse(readFileSync(file, 'utf8'))
    return signInUrl.replace(gatewayUrl, `http://127.0.0.1:${consolePort}`)
  } catch {
    return undefined
  }
}

import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { packageRoot } from '#platform/package-root.ts'
import { freePort } from '#test/harness/processes/free-port.ts'
import { createAuthority } from '#test/harness/servers/certificates.ts'
import { waitUntil } from '#test/harness/shop.ts'

/*
 * The proxies of docs/availability.md in front of two nodes, with the configurations shown on that page: only addresses,
 * ports and certificates are replaced.
 */

export interface ReverseProxy {
  baseUrl: string
  stop(): Promise<void>
}

/** The nodes of a test. They have the page's two addresses and ports. */
export interface ProxiedNodes {
  hosts: readonly [string, string]
  port: number
  metricsPort: number
}

interface Program {
  /** The configuration's title on the page, and the text around it. */
  title: string
  configure(text: string, at: { port: number; folder: string }): string
  command(configFile: string): [program: string, ...args: string[]]
}

export const PROXIES = {
  nginx: {
    title: 'nginx',
    configure: (text, { port, folder }) =>
      `daemon off; pid ${folder}/nginx.pid; error_log ${folder}/nginx.log;\nevents {}\nhttp {\naccess_log off;\n${[
        'client_body',
        'proxy',
        'fastcgi',
        'uwsgi',
        'scgi',
      ]
        .map((name) => `${name}_temp_path ${folder}/${name};`)
        .join('\n')}\n${text.replace('listen 443', `listen 127.0.0.1:${port}`)}\n}\n`,
    command: (file) => ['nginx', '-e', 'stderr', '-c', file],
  },
  haproxy: {
    title: 'HAProxy',
    configure: (text, { port }) => text.replace('bind :443', `bind 127.0.0.1:${port}`),
    command: (file) => ['haproxy', '-db', '-f', file],
  },
  caddy: {
    title: 'Caddy',
    configure: (text, { port, folder }) =>
      `{\n  admin off\n  auto_https disable_redirects\n}\n${text.replace(
        'esim.example.com {',
        `https://localhost:${port} {\n  bind 127.0.0.1\n  tls ${folder}/esim.pem ${folder}/esim.key`,
      )}`,
    command: (file) => ['caddy', 'run', '--adapter', 'caddyfile', '--config', file],
  },
} satisfies Record<string, Program>

/** Starts a proxy with the page's configuration. @param folder where its files are written */
export async function startProxy(
  name: keyof typeof PROXIES,
  nodes: ProxiedNodes,
  folder: string,
): Promise<ReverseProxy> {
  const port = await freePort()
  const text = fromPage(PROXIES[name].title)
    .replaceAll('10.0.0.21', nodes.hosts[0])
    .replaceAll('10.0.0.22', nodes.hosts[1])
    .replaceAll(':8080', `:${nodes.port}`)
    .replaceAll('9464', String(nodes.metricsPort))
    .replaceAll('/etc/ssl/', `${folder}/`)
  return runProxy(name, text, { port, folder })
}

/** Starts a proxy with this configuration, which uses the files `esim.pem`, `esim.key` and `esim.both.pem` in the folder. */
export async function runProxy(
  name: keyof typeof PROXIES,
  text: string,
  { port, folder }: { port: number; folder: string },
): Promise<ReverseProxy> {
  const { configure, command } = PROXIES[name] as Program
  const { cert, key } = createAuthority('Test authority').issue('localhost')
  writeFileSync(join(folder, 'esim.pem'), cert)
  writeFileSync(join(folder, 'esim.key'), key)
  writeFileSync(join(folder, 'esim.both.pem'), cert + key)
  const file = join(folder, 'proxy.conf')
  writeFileSync(file, configure(text, { port, folder }))
  const [program, ...args] = command(file)
  const child = spawn(program, args, { stdio: ['ignore', 'pipe', 'pipe'], env: { ...process.env, HOME: folder } })
  const output = outputOf(child)
  const baseUrl = `https://localhost:${port}`
  const stop = async () => {
    if (child.exitCode === null && child.kill('SIGTERM')) await once(child, 'close')
  }
  await waitUntil(async () => {
    if (child.exitCode !== null) throw new Error(`${program} did not start:\n${output()}`)
    return isListening(port)
  })
  return { baseUrl, stop }
}

/** Returns the configuration below this title on the page. */
function fromPage(title: string): string {
  const page = readFileSync(join(packageRoot(), '../../docs/availability.md'), 'utf8')
  const [, text] = new RegExp(`\`\`\`text\\n# ${title}\\n([\\s\\S]*?)\`\`\``).exec(page) ?? []
  if (text === undefined) throw new Error(`docs/availability.md has no configuration of ${title}`)
  return text
}

function outputOf(child: ChildProcess): () => string {
  let text = ''
  for (const stream of [child.stdout, child.stderr]) stream?.setEncoding('utf8').on('data', (more) => (text += more))
  return () => text
}

/** Nothing listens there. A free port may be taken by another test while this one goes on. */
export const CLOSED_PORT = 1

export async function isListening(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
    socket.once('connect', () => resolve(true)).once('error', () => resolve(false))
    socket.once('connect', () => socket.destroy())
  })
}

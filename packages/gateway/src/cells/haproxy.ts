import { addressOf, appKeyPrefixes, type Cell, type Cells, type ProxyOptions } from './cells-file.ts'

export function haproxyConfig({ cells, defaultCell, movedAppKeys }: Cells, options: ProxyOptions): string {
  const { host = '', port } = options.listen
  return `defaults
  mode http
  timeout connect 2s
  timeout client 90s
  timeout server 60s
  timeout check 3s

frontend esim
  bind ${host.includes(':') ? `[${host}]` : host}:${port} ssl crt ${options.certificate}
${[...movedAppKeys].map(([appKey, name]) => `  acl moved_to_${name} req.fhdr(RT-AccessCode) -m str ${appKey}`).join('\n')}
${cells.map(({ name }) => `  acl names_${name} req.fhdr(RT-AccessCode) -m beg ${appKeyPrefixes(name).join(' ')}`).join('\n')}
${hosts(cells)
  .map(({ name, publicHost }) => `  acl host_${name} req.hdr(Host),field(1,:) -i ${publicHost}`)
  .join('\n')}
${[...new Set(movedAppKeys.values())].map((name) => `  use_backend cell_${name} if moved_to_${name}`).join('\n')}
${cells.map(({ name }) => `  use_backend cell_${name} if names_${name}`).join('\n')}
${hosts(cells)
  .map(({ name }) => `  use_backend cell_${name} if host_${name}`)
  .join('\n')}
  default_backend cell_${defaultCell}

${cells.map(backend).join('\n\n')}
`.replaceAll(/\n\n(?= )/g, '\n')
}

function hosts(cells: readonly Cell[]): Cell[] {
  return cells.filter(({ publicHost }) => publicHost !== undefined)
}

function backend({ name, nodes }: Cell): string {
  return `backend cell_${name}
  balance hdr(RT-AccessCode)
  hash-type consistent
  option httpchk GET /readyz
  option redispatch 1
  retry-on conn-failure
  option forwardfor
  http-request set-header X-Forwarded-Proto https
  default-server check inter 1s fall 2 rise 2
${nodes.map((node, index) => `  server node${index + 1} ${addressOf(node)} port ${node.metricsPort}`).join('\n')}`
}

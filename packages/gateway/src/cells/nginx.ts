import { addressOf, appKeyPrefixes, type Cell, type Cells, type ProxyOptions } from './cells-file.ts'

/**
 * A configuration for nginx's `http` block. nginx does not request /readyz, so a stopping node receives requests until its
 * port closes.
 */
export function nginxConfig({ cells, defaultCell, movedAppKeys }: Cells, options: ProxyOptions): string {
  const { host, port } = options.listen
  const listen = host === undefined ? String(port) : addressOf({ host, port })
  const hosts = cells.filter(({ publicHost }) => publicHost !== undefined)
  return `map_hash_bucket_size 128;
map $http_rt_accesscode $cell_of_app_key {
  default "";
${[...movedAppKeys].map(([appKey, name]) => `  "${appKey}" ${name};`).join('\n')}
${cells.map(({ name }) => `  "~^(${appKeyPrefixes(name).join('|')})" ${name};`).join('\n')}
}
map $host $cell_of_host {
  default ${defaultCell};
${hosts.map(({ name, publicHost }) => `  "${publicHost!.toLowerCase()}" ${name};`).join('\n')}
}
map $cell_of_app_key $cell {
  default $cell_of_app_key;
  "" $cell_of_host;
}
map $http_rt_accesscode $balanced_by {
  default $http_rt_accesscode;
  "" $remote_addr;
}

${cells.map(upstream).join('\n\n')}

server {
  listen ${listen} ssl;
  ssl_certificate ${options.certificate};
  ssl_certificate_key ${options.key};
  location / {
    proxy_pass http://cell_$cell;
    proxy_http_version 1.1;
    proxy_connect_timeout 2s;
    proxy_set_header Host $host;
    proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;
    proxy_set_header X-Forwarded-Proto $scheme;
  }
}
`.replaceAll(/\n\n(?=[ }])/g, '\n')
}

function upstream({ name, nodes }: Cell): string {
  return `upstream cell_${name} {
  hash $balanced_by consistent;
${nodes.map((node) => `  server ${addressOf(node)} fail_timeout=2s;`).join('\n')}
}`
}

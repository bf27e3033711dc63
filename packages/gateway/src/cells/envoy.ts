import { appKeyPrefixes, type Cell, type Cells, type ProxyOptions } from './cells-file.ts'

const APP_KEY = 'rt-accesscode'

/** Envoy's bootstrap configuration, as JSON. */
export function envoyConfig({ cells, defaultCell, movedAppKeys }: Cells, options: ProxyOptions): string {
  const { host = '0.0.0.0', port } = options.listen
  const route = (cell: string, match: object) => ({ match: { prefix: '/', ...match }, route: routeTo(cell) })
  const byAppKey = (cell: string, string_match: object) =>
    route(cell, { headers: [{ name: APP_KEY, string_match: { ...string_match, ignore_case: false } }] })
  const byHost = ({ name, publicHost }: Cell) =>
    route(name, {
      headers: [{ name: ':authority', string_match: { safe_regex: { regex: hostPattern(publicHost!) } } }],
    })
  const routes = [
    ...[...movedAppKeys].map(([appKey, name]) => byAppKey(name, { exact: appKey })),
    ...cells.flatMap(({ name }) => appKeyPrefixes(name).map((prefix) => byAppKey(name, { prefix }))),
    ...cells.filter(({ publicHost }) => publicHost !== undefined).map(byHost),
    route(defaultCell, {}),
  ]
  const manager = {
    '@type': typeOf('filters.network.http_connection_manager.v3.HttpConnectionManager'),
    stat_prefix: 'esim',
    use_remote_address: true, // appends the caller to X-Forwarded-For and sets X-Forwarded-Proto
    route_config: { virtual_hosts: [{ name: 'cells', domains: ['*'], routes }] },
    http_filters: [
      { name: 'envoy.filters.http.router', typed_config: { '@type': typeOf('filters.http.router.v3.Router') } },
    ],
  }
  const tls = {
    '@type': typeOf('transport_sockets.tls.v3.DownstreamTlsContext'),
    common_tls_context: {
      tls_certificates: [
        { certificate_chain: { filename: options.certificate }, private_key: { filename: options.key } },
      ],
    },
  }
  const listener = {
    name: 'esim',
    address: addressIn({ host, port }),
    filter_chains: [
      {
        filters: [{ name: 'envoy.filters.network.http_connection_manager', typed_config: manager }],
        transport_socket: { name: 'envoy.transport_sockets.tls', typed_config: tls },
      },
    ],
  }
  return `${JSON.stringify({ static_resources: { listeners: [listener], clusters: cells.map(cluster) } }, null, 2)}\n`
}

function routeTo(cell: string) {
  return {
    cluster: `cell_${cell}`,
    timeout: '60s',
    hash_policy: [{ header: { header_name: APP_KEY } }],
    retry_policy: { retry_on: 'connect-failure', num_retries: 2 },
  }
}

function cluster({ name, nodes }: Cell) {
  const health = { timeout: '3s', interval: '1s', unhealthy_threshold: 2, healthy_threshold: 2 }
  return {
    name: `cell_${name}`,
    type: 'STRICT_DNS',
    connect_timeout: '2s',
    lb_policy: 'RING_HASH',
    health_checks: [{ ...health, http_health_check: { path: '/readyz' } }],
    load_assignment: {
      cluster_name: `cell_${name}`,
      endpoints: [
        {
          lb_endpoints: nodes.map((node) => ({
            endpoint: { address: addressIn(node), health_check_config: { port_value: node.metricsPort } },
          })),
        },
      ],
    },
  }
}

function addressIn({ host, port }: { host: string; port: number }) {
  return { socket_address: { address: host, port_value: port } }
}

function typeOf(name: string): string {
  return `type.googleapis.com/envoy.extensions.${name}`
}

/** The host with any port. */
function hostPattern(host: string): string {
  return `(?i)${host.replaceAll('.', '\\.')}(:[0-9]+)?`
}

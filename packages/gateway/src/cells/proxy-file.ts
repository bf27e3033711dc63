import { envoyConfig } from './envoy.ts'
import { haproxyConfig } from './haproxy.ts'
import { nginxConfig } from './nginx.ts'

/*
 * Configurations of load balancers in front of cells. All of them decide in this order: a moved AppKey, the cell given in
 * the AppKey, the host, the default cell. Requests of one dealer go to one node of its cell while that node is ready: its
 * orders then share batches and a cached wallet. A request is repeated on another node only if it was not sent.
 */

export const PROXY_CONFIGS = { haproxy: haproxyConfig, nginx: nginxConfig, envoy: envoyConfig } as const

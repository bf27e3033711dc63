// The boundaries between modules. ARCHITECTURE.md describes them; this file enforces them.
const gateway = '^packages/gateway/src'
// The APIs. Files directly in http/, and load-shedding/, are what they share.
const apis = `${gateway}/(http/dealer|http/rt|http/console|http/supplier-api|http/public|http/probes|cli)[/.]`
const { modules: MODULES } = require('./test/style/layers.json')
// The folders of fulfilment, from the bottom up. The files directly in fulfilment/ are above all of them.
const FULFILMENT = ['outcomes', 'review', 'reconciliation']
module.exports = {
  forbidden: [
    {
      name: 'no-circles',
      severity: 'error',
      from: {},
      to: { circular: true },
    },
    ...MODULES.map((folder, index) => ({
      name: `${folder}-imports-no-module-above-it`,
      severity: 'error',
      from: { path: `${gateway}/${folder}/` },
      to: { path: `${gateway}/(${MODULES.slice(index + 1).join('|') || '(?!)'})/` },
    })),
    ...FULFILMENT.map((folder, index) => ({
      name: `fulfilment-${folder}-imports-nothing-above-it`,
      severity: 'error',
      from: { path: `${gateway}/fulfilment/${folder}/`, pathNot: '\\.test\\.ts$' },
      to: { path: `${gateway}/fulfilment/([^/]+$|(${FULFILMENT.slice(index + 1).join('|') || '(?!)'})/)` },
    })),
    {
      name: 'contract-stands-alone',
      comment: 'contract imports nothing of ours',
      severity: 'error',
      from: { path: '^packages/contract/src' },
      to: { path: '^packages/(?!contract/)' },
    },
    {
      name: 'embedded-postgres-stands-alone',
      comment: 'embedded-postgres imports no other package of ours',
      severity: 'error',
      from: { path: '^packages/embedded-postgres/src' },
      to: { path: '^packages/(?!embedded-postgres/)' },
    },
    {
      name: 'wholesaler-simulators-stand-alone',
      comment:
        'written independently of the suppliers that buy from them: a misreading on one side must show on the other',
      severity: 'error',
      from: { path: '^packages/wholesaler-simulators/(src|bin)' },
      to: { path: '^packages/(?!wholesaler-simulators/)' },
    },
    {
      name: 'only-tests-import-wholesaler-simulators',
      comment: 'a gateway starts one as a process of its own',
      severity: 'error',
      from: { path: '^packages/(?!wholesaler-simulators/)[^/]+/src', pathNot: '\\.test\\.ts$' },
      to: { path: '^packages/wholesaler-simulators/' },
    },
    {
      name: 'no-module-imports-an-api',
      comment: 'nor what the APIs share',
      severity: 'error',
      from: { path: gateway, pathNot: `${apis}|${gateway}/http/|${gateway}/[a-z-]+\\.ts$` },
      to: { path: `${apis}|${gateway}/http/` },
    },
    {
      name: 'no-api-imports-another-api',
      comment: 'what several of them need goes to http',
      severity: 'error',
      from: { path: apis },
      to: { path: apis, pathNot: `${gateway}/$1[/.]` },
    },
    {
      name: 'dealer-api-is-given-its-operations',
      comment: 'by api.ts: otherwise what carries out an order imports the modules of all other operations',
      severity: 'error',
      from: { path: `${gateway}/http/dealer/` },
      to: { path: `${gateway}/http/dealer/dealer-operations\\.ts$` },
    },
    {
      name: 'admin-imports-statically',
      comment:
        'admin-program.ts loads the whole noun that is called; only lib/outbound, which is large, is loaded where it is needed',
      severity: 'error',
      from: { path: `${gateway}/cli/`, pathNot: '/(admin-program|context)\\.ts$' },
      to: { dynamic: true, pathNot: '^packages/lib/src/outbound/' },
    },
    {
      name: 'http-imports-only-lib',
      comment: 'and the types of its arguments',
      severity: 'error',
      from: { path: `${gateway}/http/`, pathNot: apis },
      to: { path: `${gateway}/(?!http/)`, pathNot: `${gateway}/(platform/config/config|deps)\\.ts$` },
    },
    {
      name: 'lib-imports-only-contract',
      severity: 'error',
      from: { path: '^packages/lib/src' },
      to: { path: '^packages/(?!lib/|contract/)' },
    },
    {
      name: 'wholesalers-import-only-contract-sdk-lib',
      comment: 'a contributor adds one without reading the gateway',
      severity: 'error',
      from: { path: '^packages/wholesalers/src', pathNot: '\\.test\\.ts$' },
      to: { path: '^packages/(?!wholesalers/|contract/|sdk/|lib/)' },
    },
    {
      name: 'only-outbound-dials',
      comment: 'every outgoing connection passes the address check of lib/outbound',
      severity: 'error',
      // http/server.ts answers where there is no request object: it uses the names of status codes, and opens no connection.
      // check-public-url.ts listens where the gateway will, and dials through lib/outbound.
      from: {
        path: '^packages/(gateway|lib|wholesalers)/src',
        pathNot: `^packages/lib/src/outbound|${gateway}/http/server|${gateway}/operations/setup/check-public-url|\\.test\\.ts$`,
      },
      to: { path: '^(undici|node:https?|http|https|net|node:net|tls|node:tls)$', dependencyTypesNot: ['type-only'] },
    },
    {
      name: 'no-orphan-tests-in-src',
      severity: 'error',
      from: { path: '/src/', pathNot: '\\.test\\.ts$' },
      to: { path: '\\.test\\.ts$' },
    },
  ],
  options: {
    doNotFollow: { path: 'node_modules' },
    // Build output of the sources that are checked.
    exclude: { path: '^packages/[^/]+/dist' },
    tsPreCompilationDeps: true,
    tsConfig: { fileName: 'tsconfig.json' },
    enhancedResolveOptions: {
      // Without it imports of a package by its name are not resolved, and no rule applies to them.
      exportsFields: ['exports'],
      conditionNames: ['import', 'node', 'default'],
      extensions: ['.ts', '.tsx', '.mjs', '.js'],
    },
  },
}

import { expect, it } from 'vitest'
import { addressOf, parseCells, withMovedAppKey } from './cells-file.ts'
import { envoyConfig } from './envoy.ts'
import { haproxyConfig } from './haproxy.ts'
import { nginxConfig } from './nginx.ts'

const node = (host: string) => ({ host })
const parse = (file: unknown) => parseCells(JSON.stringify(file))

it('ports have defaults, and the first cell is the default cell', () => {
  const { cells, defaultCell, movedAppKeys } = parse({ cells: [{ name: 'main', nodes: [node('10.0.0.21')] }] })
  expect(cells).toEqual([{ name: 'main', nodes: [{ host: '10.0.0.21', port: 8080, metricsPort: 9464 }] }])
  expect([defaultCell, movedAppKeys.size]).toEqual(['main', 0])
})

it('an IPv6 address is written in brackets', () => {
  expect(addressOf({ host: 'fd00::1', port: 80 })).toBe('[fd00::1]:80')
})

const main = { name: 'main', nodes: [node('10.0.0.21')] }
it.each([
  ['text that is not JSON', '{', /it is not JSON/],
  ['no cell', { cells: [] }, /cells must not have fewer than 1/],
  ['a cell without nodes', { cells: [{ name: 'main', nodes: [] }] }, /cells.0.nodes must not have fewer than 1/],
  [
    'a name that cannot be in an AppKey',
    { cells: [{ ...main, name: 'EU_1' }] },
    /cells.0.name must be 1 to 12 lower-case/,
  ],
  ['a mistyped member', { cells: [{ ...main, node: 1 }] }, /unknown member cells.0.node/],
  [
    'a host with a directive',
    { cells: [{ ...main, nodes: [node('a; return 200')] }] },
    /nodes.0.host must be the name or the address/,
  ],
  ['two cells of one name', { cells: [main, { ...main, nodes: [node('10.0.0.22')] }] }, /two cells are named main/],
  ['a node in two cells', { cells: [main, { ...main, name: 'eu1' }] }, /two nodes have the address 10.0.0.21:8080/],
  [
    'a host of two cells',
    {
      cells: [
        { ...main, publicHost: 'A.example' },
        { name: 'eu1', nodes: [node('b')], publicHost: 'a.example' },
      ],
    },
    /two cells have the publicHost a.example/,
  ],
  ['an unknown default cell', { cells: [main], defaultCell: 'eu1' }, /defaultCell eu1 is not one of the cells/],
  [
    'a dealer moved to nowhere',
    { cells: [main], movedAppKeys: { ak_main_12345678: 'eu1' } },
    /movedAppKeys.ak_main_12345678: eu1 is not one/,
  ],
  ['an AppKey with a quote', { cells: [main], movedAppKeys: { 'ak_main_"; x': 'main' } }, /movedAppKeys/],
])('%s is refused with a message that says what to correct', (_, file, message) => {
  expect(() => (typeof file === 'string' ? parseCells(file) : parse(file))).toThrow(message)
})

const two = { cells: [main, { name: 'eu1', nodes: [node('10.0.1.21')] }] }

it.each(['ak', 'rk'])('a moved %s_… AppKey needs an exception until it names the cell that serves it', (prefix) => {
  const moved = withMovedAppKey(JSON.stringify(two), `${prefix}_main_12345678`, 'eu1')
  expect(JSON.parse(moved).movedAppKeys).toEqual({ [`${prefix}_main_12345678`]: 'eu1' })
  expect(JSON.parse(withMovedAppKey(moved, `${prefix}_main_12345678`, 'main')).movedAppKeys).toEqual({})
})

it('every load balancer routes a restricted key to the cell in its name', () => {
  const options = { listen: { host: undefined, port: 443 }, certificate: '/a.pem', key: '/a.key' }
  expect(nginxConfig(parse(two), options)).toContain('"~^(ak_eu1_|rk_eu1_)" eu1;')
  expect(haproxyConfig(parse(two), options)).toContain('acl names_eu1 req.fhdr(RT-AccessCode) -m beg ak_eu1_ rk_eu1_')
  expect(envoyConfig(parse(two), options)).toContain('"prefix": "rk_eu1_"')
})

import { Refusal } from '@dealer-esim/lib/refusal.ts'
import { listSchemaFaults } from '@dealer-esim/lib/schema-faults.ts'
import Type, { type Static } from 'typebox'

const CLOSED = { additionalProperties: false } as const
const CELL_NAME = '^[a-z0-9]{1,12}$'
const HOST = '^[A-Za-z0-9]([A-Za-z0-9.-]{0,251}[A-Za-z0-9])?$'
const NODE_HOST = '^[A-Za-z0-9]([A-Za-z0-9.:-]{0,251}[A-Za-z0-9])?$'
const APP_KEY = '^[A-Za-z0-9_-]{8,64}$'
/** Only a console on this machine may work without a certificate, because the request carries a token. */
const CONSOLE_URL =
  '^(https://[A-Za-z0-9.:\\[\\]-]{1,300}|http://(127\\.0\\.0\\.1|localhost|\\[::1\\])(:[0-9]{1,5})?)/console$'
const PORT_DEFAULT = 8_080
const METRICS_PORT_DEFAULT = 9_464
const port = (otherwise: number) => Type.Integer({ minimum: 1, maximum: 65_535, default: otherwise })

const cell = Type.Object(
  {
    name: Type.String({ pattern: CELL_NAME, description: 'CELL_NAME of its nodes' }),
    nodes: Type.Array(
      Type.Object(
        {
          host: Type.String({ pattern: NODE_HOST, description: 'Where the proxy reaches the node' }),
          port: Type.Optional(port(PORT_DEFAULT)),
          metricsPort: Type.Optional(port(METRICS_PORT_DEFAULT)),
        },
        CLOSED,
      ),
      { minItems: 1, maxItems: 100 },
    ),
    environmentFile: Type.Optional(
      Type.String({
        minLength: 1,
        description: 'The environment file of its nodes, relative to this file: how tenant move reaches its database',
      }),
    ),
    publicHost: Type.Optional(
      Type.String({
        pattern: HOST,
        description: 'Requests to this host without an AppKey: console, pages of travellers',
      }),
    ),
    consoleUrl: Type.Optional(
      Type.String({ pattern: CONSOLE_URL, description: 'Address of its console, for the page of all cells' }),
    ),
    tokenFile: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: 4_096,
        description: 'File with an access token of a reader of its console',
      }),
    ),
  },
  CLOSED,
)

/** All cells of an operator: the contents of the file that `admin cells` reads. */
const cellsFile = Type.Object(
  {
    cells: Type.Array(cell, { minItems: 1, maxItems: 1_000 }),
    defaultCell: Type.Optional(
      Type.String({
        pattern: CELL_NAME,
        description: 'Serves AppKeys without a cell, and other hosts. Absent: the first',
      }),
    ),
    movedAppKeys: Type.Optional(
      Type.Record(Type.String({ pattern: APP_KEY }), Type.String({ pattern: CELL_NAME }), {
        ...CLOSED,
        description: 'AppKeys whose dealers are served by a cell other than the one that they name',
      }),
    ),
  },
  CLOSED,
)

export interface CellNode {
  host: string
  port: number
  /** Serves /readyz and /metrics. */
  metricsPort: number
}

export interface Cell {
  name: string
  nodes: CellNode[]
  /** The file with the variables of the cell's nodes, one NAME=value per line. */
  environmentFile?: string
  publicHost?: string
  consoleUrl?: string
  /** Path of a file with a personal access token for that console. */
  tokenFile?: string
}

export interface Cells {
  cells: readonly Cell[]
  defaultCell: string
  /** Exceptions: the cell that serves an AppKey, if that is not the cell named in the AppKey. */
  movedAppKeys: ReadonlyMap<string, string>
}

export interface ProxyOptions {
  /** Where the proxy listens, such as `:443` or `127.0.0.1:8443`. */
  listen: { host: string | undefined; port: number }
  /** Path of the certificate. HAProxy needs the key in the same file. */
  certificate: string
  key: string
}

const FORMS = {
  [CELL_NAME]: '1 to 12 lower-case letters and digits',
  [HOST]: 'the name of a host',
  [NODE_HOST]: 'the name or the address of a host',
  [CONSOLE_URL]: 'the address of a console, such as https://eu1.example.com/console',
}

/**
 * Parses the text of a cells file.
 * @throws Refusal that lists every fault
 */
export function parseCells(text: string): Cells {
  const file = parseJson(text)
  const faults = listSchemaFaults(cellsFile, file, FORMS)
  if (faults.length > 0) throw refusal(faults)
  const { cells: listed, movedAppKeys = {}, defaultCell = listed[0]!.name } = file as Static<typeof cellsFile>
  const cells = listed.map((one) => ({ ...one, nodes: one.nodes.map(withPorts) }))
  const found = { cells, defaultCell, movedAppKeys: new Map(Object.entries(movedAppKeys)) }
  const contradictions = [...listRepetitions(cells), ...listUnknownNames(found)]
  if (contradictions.length > 0) throw refusal(contradictions)
  return found
}

function withPorts({
  host,
  port = PORT_DEFAULT,
  metricsPort = METRICS_PORT_DEFAULT,
}: Partial<CellNode> & { host: string }) {
  return { host, port, metricsPort }
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch (error) {
    throw refusal([`it is not JSON: ${(error as Error).message}`])
  }
}

/** Two cells that shared a node or a host would receive each other's dealers. */
function listRepetitions(cells: readonly Cell[]): string[] {
  const values = (of: (one: Cell) => string[]) => repeated(cells.flatMap(of))
  return [
    ...values(({ name }) => [name]).map((name) => `two cells are named ${name}`),
    ...values(({ nodes }) => nodes.map(addressOf)).map((address) => `two nodes have the address ${address}`),
    ...values(({ publicHost }) => (publicHost ? [publicHost.toLowerCase()] : [])).map(
      (host) => `two cells have the publicHost ${host}`,
    ),
  ]
}

function repeated(values: readonly string[]): string[] {
  return [...new Set(values.filter((value, index) => values.indexOf(value) !== index))]
}

function listUnknownNames({ cells, defaultCell, movedAppKeys }: Cells): string[] {
  const names = new Set(cells.map(({ name }) => name))
  return [
    ...(names.has(defaultCell) ? [] : [`defaultCell ${defaultCell} is not one of the cells`]),
    ...[...movedAppKeys].flatMap(([appKey, name]) =>
      names.has(name) ? [] : [`movedAppKeys.${appKey}: ${name} is not one of the cells`],
    ),
  ]
}

function refusal(faults: readonly string[]): Refusal {
  return new Refusal(400, 'INVALID_CELLS', `The cells file cannot be used. Correct it: ${faults.join('; ')}.`)
}

/**
 * The text of the file after a dealer has moved. It contains an exception for the AppKey only if the AppKey does not
 * already identify that cell.
 */
export function withMovedAppKey(text: string, appKey: string, cell: string): string {
  const { cells, defaultCell } = parseCells(text)
  const file = JSON.parse(text) as { movedAppKeys?: Record<string, string> }
  const named =
    cells.find(({ name }) => appKeyPrefixes(name).some((prefix) => appKey.startsWith(prefix)))?.name ?? defaultCell
  const { [appKey]: _, ...others } = file.movedAppKeys ?? {}
  const movedAppKeys = named === cell ? others : { ...others, [appKey]: cell }
  return `${JSON.stringify({ ...file, movedAppKeys }, null, 2)}\n`
}

/** The prefixes of a cell's AppKeys: of dealers' keys, and of their restricted keys. */
export function appKeyPrefixes(cell: string): string[] {
  return [`ak_${cell}_`, `rk_${cell}_`]
}

/** `10.0.0.21:8080`, `[fd00::21]:8080` */
export function addressOf({ host, port }: Pick<CellNode, 'host' | 'port'>): string {
  return `${host.includes(':') ? `[${host}]` : host}:${port}`
}

import { systemClock } from '@dealer-esim/lib/clock.ts'
import { shortList } from '@dealer-esim/lib/refusal.ts'
import { type Command, Option } from 'commander'
import { addressOf, type Cells, parseCells } from '#cells/cells-file.ts'
import { type CheckedNode, checkCells } from '#cells/check-cells.ts'
import { PROXY_CONFIGS } from '#cells/proxy-file.ts'
import { importPublication, type PublicationReport } from '#cells/publication/import-publication.ts'
import { readEntries } from '#cells/publication/publication-entries.ts'
import { publishCatalogue } from '#cells/publication/publish-catalogue.ts'
import type { Config } from '#platform/config/config.ts'
import { readPublicationKey } from '#platform/config/parsers.ts'
import { UsageError } from './kernel/cli-failure.ts'
import { getFileSize, openFile, readTextFile, writeOutput } from './kernel/cli-files.ts'
import { withOutbound } from './kernel/cli-outbound.ts'
import type { AdminContext } from './kernel/context.ts'
import { count, table } from './kernel/text-table.ts'

const FILE = 'cells.json'
const FILE_SIZE_MAX_BYTES = 16 * 2 ** 20

export function cellsCommands(cells: Command, context: AdminContext): void {
  list(cells, context)
  check(cells, context)
  proxy(cells, context)
  publish(cells, context)
  importFile(cells, context)
}

const fileOption = () => new Option('--file <file>', 'the file that lists the cells').default(FILE)

function list(cells: Command, context: AdminContext): void {
  cells
    .command('list')
    .description('List the cells of the file, their nodes and the dealers that were moved to them.')
    .addOption(fileOption())
    .action(({ file }: { file: string }) => {
      const found = readCells(file)
      const rows = found.cells.map((cell) => ({
        ...cell,
        isDefault: cell.name === found.defaultCell,
        movedAppKeys: [...found.movedAppKeys].flatMap(([appKey, name]) => (name === cell.name ? [appKey] : [])),
      }))
      const human = table(
        rows,
        [
          { title: 'CELL', value: (cell) => (cell.isDefault ? `${cell.name} (default)` : cell.name) },
          { title: 'NODES', value: (cell) => cell.nodes.map(addressOf).join(', ') },
          { title: 'HOST', value: (cell) => cell.publicHost ?? '' },
          { title: 'MOVED HERE', value: (cell) => String(cell.movedAppKeys.length), right: true },
        ],
        '',
      )
      context.print(human, { cellList: rows })
    })
}

function check(cells: Command, context: AdminContext): void {
  cells
    .command('check')
    .description(
      'Ask every node of every cell whether it is ready and belongs to its cell. Exits with 1 if one does not.',
    )
    .addOption(fileOption())
    .action(async ({ file }: { file: string }) => {
      const found = readCells(file)
      const nodes = await withOutbound({ clock: systemClock }, (outbound) => checkCells(outbound, found.cells))
      if (nodes.some(({ fault }) => fault !== undefined)) context.exitCode = 1
      const human = table<CheckedNode>(
        nodes,
        [
          { title: 'CELL', value: (node) => node.cell },
          { title: 'NODE', value: (node) => node.address },
          { title: 'STATE', value: (node) => node.fault ?? 'ready' },
        ],
        '',
      )
      context.print(human, { nodeList: nodes.map(({ fault = null, ...node }) => ({ ...node, fault })) })
    })
}

interface ProxyCommandOptions {
  file: string
  listen: string
  certificate: string
  key: string
}

function proxy(cells: Command, context: AdminContext): void {
  const programs = Object.keys(PROXY_CONFIGS).join(', ')
  cells
    .command('proxy <program>')
    .description(
      `Print the configuration of a load balancer (${programs}) that sends each dealer to its cell, and there always to the same node while it is ready. Run it again after each change of the file, and reload the load balancer.`,
    )
    .addOption(fileOption())
    .option('--listen <address>', 'port, or address and port, such as 443 or 192.0.2.1:443', '443')
    .option('--certificate <file>', 'certificate, for HAProxy with its key in the same file', '/etc/ssl/esim.pem')
    .option('--key <file>', 'key of the certificate', '/etc/ssl/esim.key')
    .addHelpText('after', '\nExample:\n  npm run -s admin -- cells proxy haproxy > haproxy.cfg')
    .action((program: string, { file, listen, certificate, key }: ProxyCommandOptions) => {
      if (!Object.hasOwn(PROXY_CONFIGS, program))
        throw new UsageError(`Unknown load balancer “${program}”. Available: ${programs}.`)
      const write = PROXY_CONFIGS[program as keyof typeof PROXY_CONFIGS]
      for (const path of [certificate, key])
        if (!/^[\w./@+-]+$/.test(path))
          throw new UsageError(`“${path}” contains characters other than letters, digits and ./@+_-.`)
      const text = write(readCells(file), { listen: parseListen(listen), certificate, key })
      context.print(text.trimEnd(), { program, configuration: text })
    })
}

function publish(cells: Command, context: AdminContext): void {
  cells
    .command('publish [file]')
    .description(
      'Write packages, price plans, sale rules and exchange rates of this cell, to a file or to standard output.',
    )
    .addHelpText('after', '\nExample:\n  npm run -s admin -- cells publish catalogue.jsonl')
    .action((file: string | undefined) =>
      context.withDeps(async (deps) => {
        const { cellName: cell } = deps.config
        const key = keyOf(deps.config)
        const packages = await writeOutput(file, (write) => publishCatalogue(deps.db, { cell, key }, write))
        if (file !== undefined && file !== '-')
          context.print(`Wrote ${count(packages, 'package')} of the cell ${cell} to ${file}.`, { cell, packages, file })
      }),
    )
}

function keyOf({ publicationKeyFile }: Pick<Config, 'publicationKeyFile'>): Buffer | undefined {
  return publicationKeyFile === undefined ? undefined : readPublicationKey(publicationKeyFile)
}

interface ImportCommandOptions {
  dryRun?: boolean
  takeOthersOffSale?: boolean
  allowOlder?: boolean
}

function importFile(cells: Command, context: AdminContext): void {
  cells
    .command('import <file>')
    .description('Import what another cell has published, all or nothing.')
    .option('--dry-run', 'report what would change, and change nothing')
    .option('--take-others-off-sale', 'take packages off sale that the other cell does not have')
    .option('--allow-older', 'accept a publication older than the one imported last')
    .action((file: string, { dryRun = false, takeOthersOffSale = false, allowOlder = false }: ImportCommandOptions) =>
      context.withDeps(async (deps) => {
        const options = { cell: deps.config.cellName, dryRun, takeOthersOffSale, allowOlder }
        const report = await importPublication(
          deps,
          readEntries(openFile(file), keyOf(deps.config)),
          options,
          context.by,
        )
        context.print(reportText(report, dryRun), { dryRun, ...report })
      }),
    )
}

function reportText(report: PublicationReport, dryRun: boolean): string {
  const { from, added, changed, unchanged, plans, saleRules, notPublished, isTakenOffSale, unknownSuppliers } = report
  const others = isTakenOffSale ? 'taken off sale, because' : 'left on sale, although'
  return [
    `${dryRun ? 'Would import' : 'Imported'} what the cell ${from.cell} published at ${from.publishedAt}:`,
    `  packages     ${added} added, ${changed} changed, ${unchanged} unchanged`,
    `  price plans  ${plans.added} added, ${count(plans.rulesSet, 'rule')} published, ${plans.rulesRemoved} removed`,
    `  sale rules   ${saleRules}`,
    ...(notPublished.length > 0
      ? [
          `  ${count(notPublished.length, 'package')} ${others} ${from.cell} does not have them: ${shortList(notPublished, NAMES_SHOWN)}`,
        ]
      : []),
    ...(unknownSuppliers.length > 0
      ? [
          `Add these suppliers here under the same names, or their packages cannot be sold: ${shortList(unknownSuppliers, NAMES_SHOWN)}`,
        ]
      : []),
  ].join('\n')
}

const NAMES_SHOWN = 10

/** Reads the file that lists the cells. @throws Error if it cannot be read or is not valid */
export function readCells(file: string): Cells {
  if (getFileSize(file) > FILE_SIZE_MAX_BYTES) throw new Error(`${file} is larger than 16 MiB.`)
  return parseCells(readTextFile(file))
}

function parseListen(text: string): { host: string | undefined; port: number } {
  const [, bracketed, plain, digits] = /^(?:(?:\[([0-9a-fA-F:.]+)\]|([A-Za-z0-9.-]+)):)?(\d{1,5})$/.exec(text) ?? []
  const port = Number(digits)
  if (port >= 1 && port <= 65_535) return { host: bracketed ?? plain, port }
  throw new UsageError(`--listen takes a port, or an address and a port like 192.0.2.1:443, not “${text}”.`)
}

// Writes the contract's types as plain types into the SDK's declarations. In the sources they are derived from schemas,
// which would force the schema library, and ESM, on every program that uses a type.

import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import ts from 'typescript'

const root = join(dirname(fileURLToPath(import.meta.url)), '..')
const contract = join(root, 'packages/contract/src/index.ts')
const FORMAT = ts.TypeFormatFlags.NoTruncation | ts.TypeFormatFlags.InTypeAlias
const IMPORTED = /^import (?:type )?\{([^}]*)\} from ["']@dealer-esim\/contract["'];?\n/gm

/** Generic types become tables of all names, because computing them would need the schemas. */
const TABLES = {
  RequestOf: { by: 'OperationName', entry: 'contract.RequestOf<K>' },
  AnswerOf: { by: 'OperationName', entry: 'contract.AnswerOf<K>' },
  FailureData: { by: 'FailureCode', entry: '{ [M in keyof contract.FailureData<K>]: contract.FailureData<K>[M] }' },
}

/**
 * Replaces imports from the contract by the imported declarations.
 * @param {string} declarations
 */
export function withPlainTypes(declarations) {
  const imported = [...declarations.matchAll(IMPORTED)].flatMap(([, list = '']) =>
    list.split(',').map((each) =>
      each
        .trim()
        .replace(/^type /, '')
        .split(' as '),
    ),
  )
  const names = imported.map(([name = '']) => name)
  let rest = declarations.replace(IMPORTED, '')
  // If a name is both used and re-exported, the bundler creates an alias.
  for (const [name = '', alias] of imported) if (alias) rest = rest.replaceAll(alias, name)
  if (rest.includes('@dealer-esim/contract'))
    throw new Error('The declarations refer to the contract other than by named imports.')
  return `${[...new Set(names.filter(Boolean))].sort().map(declarer()).join('\n')}\n${rest}`
}

/** @returns {(name: string) => string} */
function declarer() {
  const tables = contract.replace('index.ts', 'plain-types.virtual.ts')
  const source = Object.entries(TABLES).map(
    ([name, { by, entry }]) => `export type ${name} = { [K in contract.${by}]: ${entry} }\n`,
  )
  const program = compile(tables, `import type * as contract from './index.ts'\n${source.join('')}`)
  const checker = program.getTypeChecker()
  const exportsOf = (/** @type {string} */ file) => {
    const module = checker.getSymbolAtLocation(/** @type {ts.SourceFile} */ (program.getSourceFile(file)))
    return new Map(checker.getExportsOfModule(/** @type {ts.Symbol} */ (module)).map((each) => [each.name, each]))
  }
  const [ours, known] = [exportsOf(tables), exportsOf(contract)]
  return (name) => {
    const symbol = ours.get(name) ?? known.get(name)
    const declared = symbol && (symbol.flags & ts.SymbolFlags.Alias ? checker.getAliasedSymbol(symbol) : symbol)
    const node = declared?.declarations?.[0]
    if (!declared || !node) throw new Error(`The contract has no ${name}.`)
    if (ts.isInterfaceDeclaration(node)) return node.getText().replace(/^export /, '')
    if (ts.isVariableDeclaration(node)) {
      return `declare const ${name}: ${checker.typeToString(checker.getTypeOfSymbol(declared), undefined, FORMAT)};`
    }
    if (ts.isFunctionDeclaration(node)) {
      const signature = checker.getSignatureFromDeclaration(node)
      return `declare function ${name}${checker.signatureToString(/** @type {ts.Signature} */ (signature))};`
    }
    const text = checker.typeToString(checker.getDeclaredTypeOfSymbol(declared), undefined, FORMAT)
    const table = TABLES[/** @type {keyof typeof TABLES} */ (name)]
    // TypeScript prints keys of digits without quotes, which would make them numbers.
    const quoted = text.replace(/([{;] )(\d+): /g, '$1"$2": ')
    return table ? `type ${name}<K extends ${table.by}> = ${quoted}[K];` : `type ${name} = ${text};`
  }
}

/** @param {string} file @param {string} text @returns {ts.Program} */
function compile(file, text) {
  const { config } = ts.readConfigFile(join(root, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.parseJsonConfigFileContent({ ...config, include: [], files: [] }, ts.sys, root)
  const host = ts.createCompilerHost(options)
  const { getSourceFile, fileExists } = host
  host.fileExists = (name) => name === file || fileExists(name)
  host.getSourceFile = (name, version, ...more) =>
    name === file ? ts.createSourceFile(name, text, version, true) : getSourceFile(name, version, ...more)
  return ts.createProgram([file], options, host)
}

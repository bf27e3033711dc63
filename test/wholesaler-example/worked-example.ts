import { dirname, join } from 'node:path'
import type { RestDeps } from '@dealer-esim/wholesalers/rest-client.ts'
import type { Supplier } from '@dealer-esim/wholesalers/supplier.ts'
import { build } from 'esbuild'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../..')
/** The example is compiled as if it were in this folder. It exists only in memory, so no other check sees it. */
const FOLDER = join(ROOT, 'packages/wholesalers/src/example')

/** Source texts by file name. */
export type Sources = ReadonlyMap<string, string>

/** The code blocks that follow a line such as `**example/client.ts**`. */
export function findSources(markdown: string): Sources {
  const blocks = markdown.matchAll(/^\*\*example\/([a-z-]+\.ts)\*\*\n\n```ts\n(.*?)^```$/gms)
  return new Map([...blocks].map(([, name = '', text = '']) => [name, text]))
}

/** Compiles the sources with the options of the repository. @returns the compiler's messages */
export function listTypeFaults(sources: Sources): string[] {
  const { config } = ts.readConfigFile(join(ROOT, 'tsconfig.json'), ts.sys.readFile)
  const { options } = ts.convertCompilerOptionsFromJson(config.compilerOptions, ROOT)
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile } = host
  const sourceOf = (path: string) => (dirname(path) === FOLDER ? sources.get(path.slice(FOLDER.length + 1)) : undefined)
  host.getCurrentDirectory = () => ROOT
  host.fileExists = (path) => sourceOf(path) !== undefined || fileExists(path)
  host.readFile = (path) => sourceOf(path) ?? readFile(path)
  host.directoryExists = (path) => path === FOLDER || ts.sys.directoryExists(path)
  host.getSourceFile = (path, language) => {
    const text = host.readFile(path)
    return text === undefined ? undefined : ts.createSourceFile(path, text, language)
  }
  const program = ts.createProgram(
    [...sources.keys()].map((name) => join(FOLDER, name)),
    options,
    host,
  )
  const found = [...sources.keys()].flatMap((name) => {
    const file = program.getSourceFile(join(FOLDER, name))
    return [...program.getSyntacticDiagnostics(file), ...program.getSemanticDiagnostics(file)]
  })
  return [...program.getOptionsDiagnostics(), ...program.getGlobalDiagnostics(), ...found].map(describe)
}

function describe({ file, start = 0, messageText }: ts.Diagnostic): string {
  const place = file
    ? `${file.fileName.slice(FOLDER.length + 1)}:${file.getLineAndCharacterOfPosition(start).line + 1}: `
    : ''
  return `${place}${ts.flattenDiagnosticMessageText(messageText, '\n')}`
}

export interface WorkedExample {
  exampleSupplier(name: string, config: object, deps: RestDeps): Supplier
}

/** Bundles the sources in memory and imports the bundle. */
export async function importExample(sources: Sources): Promise<WorkedExample> {
  const { outputFiles } = await build({
    entryPoints: [join(FOLDER, 'example.ts')],
    bundle: true,
    write: false,
    platform: 'node',
    format: 'esm',
    target: 'node20',
    logLevel: 'silent',
    plugins: [
      {
        name: 'worked-example',
        setup({ onResolve, onLoad }) {
          onResolve({ filter: /\/[a-z-]+\.ts$/ }, ({ path, importer, kind }) => {
            if (kind === 'entry-point') return { path }
            return dirname(importer) === FOLDER && path.startsWith('./') ? { path: join(FOLDER, path) } : undefined
          })
          onLoad({ filter: /./ }, ({ path }) =>
            dirname(path) === FOLDER
              ? { contents: sources.get(path.slice(FOLDER.length + 1))!, loader: 'ts', resolveDir: dirname(FOLDER) }
              : undefined,
          )
        },
      },
    ],
  })
  const bundle = Buffer.from(outputFiles[0]!.contents).toString('base64')
  return import(/* @vite-ignore */ `data:text/javascript;base64,${bundle}`)
}

// Preloaded into the gateway by order-path.ts: every function of the gateway, lib and the wholesalers reports its entry and its
// caller.
// The module is loaded twice: in the loader's thread its `load` instruments the sources, in the main thread `enter` records.

import { register } from 'node:module'
import { isMainThread } from 'node:worker_threads'
import ts from 'typescript'

const SOURCES = /\/packages\/(?:gateway|lib|wholesalers)\/src\/[^?]+\.ts/
/** Enough to find the calling function behind array methods and promises. */
const FRAMES = 8

if (isMainThread) {
  register(import.meta.url)
  recordEntries()
}

function recordEntries() {
  /** @type {{ file: string, name: string, caller: string | undefined }[] | undefined} */
  let entries
  globalThis.__enter = (file, name) => entries?.push({ file, name, caller: callerOf() })
  process.on('message', (message) => {
    if (message === 'start') entries = []
    if (message !== 'take') return
    process.send(entries)
    entries = undefined
  })
}

/** The file whose function called the entered one; undefined if the event loop did. */
function callerOf() {
  const { prepareStackTrace, stackTraceLimit } = Error
  Error.stackTraceLimit = FRAMES
  Error.prepareStackTrace = (_, sites) => sites
  const sites = new Error().stack
  Object.assign(Error, { prepareStackTrace, stackTraceLimit })
  // The first three are this function, __enter, and the function that was entered.
  for (const site of sites.slice(3)) {
    const found = SOURCES.exec(site.isAsync() ? '' : (site.getFileName() ?? ''))
    if (found) return found[0]
  }
  return undefined
}

export async function load(url, context, nextLoad) {
  const loaded = await nextLoad(url, context)
  const file = SOURCES.exec(url)?.[0]
  if (file === undefined || loaded.source == null) return loaded
  return { ...loaded, source: instrument(String(loaded.source), file) }
}

function instrument(source, file) {
  const parsed = ts.createSourceFile('source.mjs', source, ts.ScriptTarget.Latest, true, ts.ScriptKind.JS)
  const insertions = []
  const visit = (node) => {
    if (ts.isFunctionLike(node) && node.body) {
      const name = node.name?.getText() ?? node.parent.name?.getText() ?? 'anonymous'
      const call = `__enter(${JSON.stringify(file)},${JSON.stringify(name)})`
      if (ts.isBlock(node.body)) insertions.push([node.body.getStart() + 1, `${call};`])
      else insertions.push([node.body.getStart(), `(${call},`], [node.body.end, ')'])
    }
    ts.forEachChild(node, visit)
  }
  visit(parsed)
  insertions.sort(([left], [right]) => right - left)
  return insertions.reduce((text, [at, inserted]) => text.slice(0, at) + inserted + text.slice(at), source)
}

// What the build does with the console's files after Vite: removes styles that nothing uses, and writes compressed forms.

import { createHash } from 'node:crypto'
import { readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { brotliCompress, constants, gzip } from 'node:zlib'

/** A smaller file gains less than the header that says so. */
const SIZE_MIN_BYTES = 512

/** @param {string} output the folder that Vite has written */
export async function finishAssets(output) {
  dropUnusedStyles(output)
  const assets = join(output, 'assets')
  const files = readdirSync(assets).filter((file) => /\.(js|css|svg|json)$/.test(file))
  await Promise.all(files.map((file) => compress(join(assets, file))))
}

/**
 * Removes the rules of library components that no script names, and the library's variables, which the console writes
 * itself: half of the stylesheet. It gets the name of its new content, because browsers keep a file by its name for a year.
 * @param {string} output
 */
function dropUnusedStyles(output) {
  const assets = join(output, 'assets')
  const files = readdirSync(assets)
  const scripts = files.filter((file) => file.endsWith('.js')).map((file) => readFileSync(join(assets, file), 'utf8'))
  const used = new Set(scripts.join('\n').match(LIBRARY_CLASS))
  for (const file of files.filter((name) => name.endsWith('.css'))) {
    const css = readFileSync(join(assets, file), 'utf8')
      .replace(VARIABLES, '')
      .replace(RULE, (rule, /** @type {string} */ selectors) => {
        const isUsed = (/** @type {string} */ one) => (one.match(LIBRARY_CLASS) ?? []).every((name) => used.has(name))
        return selectors.split(',').some(isUsed) ? rule : ''
      })
    const name = `style-${createHash('sha256').update(css).digest('base64url').slice(0, 8)}.css`
    writeFileSync(join(assets, name), css)
    rmSync(join(assets, file))
    for (const path of ['index.html', '.vite/manifest.json'].map((each) => join(output, each)))
      writeFileSync(path, readFileSync(path, 'utf8').replaceAll(file, name))
  }
}

/** Mantine's classes, which its scripts name. */
const LIBRARY_CLASS = /\bm_[0-9a-f]{5,8}\b/g
/** Default values, such as `:root,:host{--mantine-scale:1;…}`. MantineProvider writes those of our theme. */
const VARIABLES = /:root(\[data-mantine-color-scheme=\w+\])?,:host[^{]*\{--mantine-[^{}]*\}/g
/** A rule without rules in it, such as one inside of @media. */
const RULE = /([^{}]+)\{[^{}]*\}/g

/** @param {string} path */
async function compress(path) {
  const body = readFileSync(path)
  if (body.length < SIZE_MIN_BYTES) return
  const params = { [constants.BROTLI_PARAM_QUALITY]: 11, [constants.BROTLI_PARAM_SIZE_HINT]: body.length }
  writeFileSync(`${path}.br`, await promisify(brotliCompress)(body, { params }))
  writeFileSync(`${path}.gz`, await promisify(gzip)(body, { level: 9 }))
}

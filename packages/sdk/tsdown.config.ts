import { defineConfig, type UserConfig } from 'tsdown'

/**
 * What is published: `npm run pack` builds it. Inside the workspace the sources are used as they are, and
 * scripts/build.mjs makes the command line. The library is neutral to its runtime; only the command line knows Node.
 */
const shared: UserConfig = {
  format: 'esm',
  target: 'es2023',
  fixedExtension: false,
  deps: { neverBundle: [/^@dealer-esim\/contract/] },
}

export default defineConfig([
  { ...shared, entry: { index: 'src/index.ts' }, platform: 'neutral', dts: true },
  { ...shared, entry: { cli: 'src/cli/main.ts' }, platform: 'node', dts: false, clean: false },
])

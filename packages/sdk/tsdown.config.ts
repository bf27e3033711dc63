import { defineConfig, type UserConfig } from 'tsdown'

/**
 * Builds the published package (`npm run pack`). Inside the workspace the sources are used directly, and scripts/build.mjs
 * builds the command line. The library does not depend on a runtime; only the command line needs Node. Both bundle the
 * contract, so that one tarball installs alone. `npm run pack` writes the types separately.
 */
const shared: UserConfig = { format: 'esm', target: 'es2023', fixedExtension: false, dts: false, clean: false }
const complete: NonNullable<UserConfig['deps']> = { alwaysBundle: [/^@dealer-esim\/contract/], onlyBundle: false }
const entry = { index: 'src/index.ts' }
/** `npm run dist` names the commit. */
const { RELEASE_COMMIT } = process.env
const release: Record<string, string> = RELEASE_COMMIT ? { RELEASE_COMMIT: JSON.stringify(RELEASE_COMMIT) } : {}

export default defineConfig([
  // CommonJS is for programs compiled to it by TypeScript, because Node 20 cannot require an ES module.
  { ...shared, entry, format: ['esm', 'cjs'], platform: 'neutral', deps: complete },
  {
    ...shared,
    entry,
    platform: 'neutral',
    dts: { emitDtsOnly: true },
    deps: { neverBundle: [/^@dealer-esim\/contract/] },
  },
  { ...shared, entry: { cli: 'src/cli/main.ts' }, platform: 'node', deps: complete, define: release },
])

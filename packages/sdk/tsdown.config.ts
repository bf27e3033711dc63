import { defineConfig, type UserConfig } from 'tsdown'

/**
 * What is published: `npm run pack` builds it. Inside the workspace the sources are used as they are, and
 * scripts/build.mjs makes the command line. The library is neutral to its runtime; only the command line knows Node. What
 * they need of the contract is in them, so that one tarball installs alone. Its types, which `npm run pack` writes out,
 * are made apart.
 */
const shared: UserConfig = { format: 'esm', target: 'es2023', fixedExtension: false, dts: false, clean: false }
const complete: NonNullable<UserConfig['deps']> = { alwaysBundle: [/^@dealer-esim\/contract/], onlyBundle: false }
const entry = { index: 'src/index.ts' }

export default defineConfig([
  // CommonJS is for programs that TypeScript compiles to it: those of Node 20 cannot require a module.
  { ...shared, entry, format: ['esm', 'cjs'], platform: 'neutral', deps: complete },
  {
    ...shared,
    entry,
    platform: 'neutral',
    dts: { emitDtsOnly: true },
    deps: { neverBundle: [/^@dealer-esim\/contract/] },
  },
  { ...shared, entry: { cli: 'src/cli/main.ts' }, platform: 'node', deps: complete },
])

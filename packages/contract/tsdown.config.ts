import { defineConfig } from 'tsdown'

/** What is published: `npm run pack` builds it. Inside the workspace the sources are used as they are. */
export default defineConfig({
  entry: { index: 'src/index.ts', node: 'src/signing-node.ts' },
  format: 'esm',
  platform: 'neutral',
  target: 'es2023',
  dts: true,
  fixedExtension: false,
  deps: { neverBundle: [/^node:/] },
})

export * from './signing-node.ts'

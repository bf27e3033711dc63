import { readSuppliers, type Suppliers } from '../suppliers/registry.ts'
import type { AdminDeps } from './open.ts'

/** The suppliers, for one command that calls them. */
export async function suppliersOf(deps: AdminDeps): Promise<Suppliers & { close(): Promise<void> }> {
  // A megabyte, and most commands dial nobody.
  const { createOutbound } = await import('../lib/outbound/outbound.ts')
  const outbound = createOutbound({ clock: deps.clock })
  const suppliers = await readSuppliers({ ...deps, outbound })
  return { ...suppliers, close: () => outbound.close() }
}

import { loadSuppliers, type Suppliers } from '../../suppliers/registry.ts'
import type { AdminDeps } from '../open.ts'

/** Opens the suppliers for one command that needs them. */
export async function withSuppliers<Result>(
  deps: AdminDeps,
  work: (suppliers: Suppliers) => Promise<Result>,
): Promise<Result> {
  // A megabyte, and most commands dial nobody.
  const { createOutbound } = await import('../../lib/outbound/outbound.ts')
  const outbound = createOutbound({ clock: deps.clock })
  try {
    return await work(await loadSuppliers({ ...deps, outbound }))
  } finally {
    await outbound.close()
  }
}

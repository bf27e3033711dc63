/** Statements that lock rows name one tenant: work is split by it. */
export function groupByTenant<Item extends { tenantId: string }>(items: readonly Item[]): Map<string, Item[]> {
  const groups = new Map<string, Item[]>()
  for (const item of items) {
    const group = groups.get(item.tenantId)
    if (group) group.push(item)
    else groups.set(item.tenantId, [item])
  }
  return groups
}

export function Replays({ tenantId }: { tenantId: string }) {
  return tenantId === '' ? <div /> : null
}

import { initials, tintOf } from './initials.ts'

/** A dealer's name preceded by its initials, which are quicker to find. */
export function DealerName({ name }: { name: string }) {
  return (
    <span className="dealer-name" title={name} data-from-gateway>
      <DealerInitials name={name} />
      <span>{name}</span>
    </span>
  )
}

export function DealerInitials({ name }: { name: string }) {
  return (
    <span className="initials" data-tint={tintOf(name)} data-from-gateway aria-hidden="true">
      {initials(name)}
    </span>
  )
}

import { money } from '../format.ts'

/** Money with its currency; what is below zero stands out. */
export function Amount({ of, currency, signed }: { of: number | null; currency: string; signed?: boolean }) {
  if (of === null) return <>–</>
  const text = money(of, currency)
  if (of < 0) return <span className="negative">{text}</span>
  return <>{signed && of > 0 ? `+${text}` : text}</>
}

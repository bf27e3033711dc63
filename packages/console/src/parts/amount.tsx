import { Text } from '@mantine/core'
import { money } from '../format.ts'

/** Money with its currency; what is below zero stands out. */
export function Amount({ of, currency, signed }: { of: number | null; currency: string; signed?: boolean }) {
  if (of === null) return <>–</>
  const text = money(of, currency)
  if (of < 0)
    return (
      <Text span inherit c="red.8" className="amount-negative">
        {text}
      </Text>
    )
  return <>{signed && of > 0 ? `+${text}` : text}</>
}

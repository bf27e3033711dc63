import { Textarea } from '@mantine/core'
import { t } from '#strings/strings.ts'

/** Asks for the supplier's statement, so that a colleague can check it. Field name: evidence. */
export function EvidenceField() {
  return (
    <Textarea
      name="evidence"
      label={t.orders.evidence}
      description={t.orders.evidenceHint}
      required
      minLength={3}
      maxLength={2000}
      autosize
    />
  )
}

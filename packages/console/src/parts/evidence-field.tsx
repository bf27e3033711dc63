import { Textarea } from '@mantine/core'
import { t } from '../strings/index.ts'

/** What a supplier said, for a colleague to check. Name: evidence. */
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

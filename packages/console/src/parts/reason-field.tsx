import { TextInput } from '@mantine/core'
import { t } from '../strings/index.ts'

/** Why something is done, for whoever asks later. Name: reason. */
export function ReasonField() {
  return (
    <TextInput
      name="reason"
      label={t.common.reason}
      description={t.common.reasonHint}
      required
      minLength={3}
      maxLength={300}
      data-autofocus
    />
  )
}

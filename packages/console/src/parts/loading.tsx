import { Center, Loader } from '@mantine/core'
import { t } from '../strings/index.ts'

export function Loading() {
  return (
    <Center mih={240}>
      <Loader role="status" aria-label={t.common.loading} />
    </Center>
  )
}

import { Tooltip } from '@mantine/core'
import { ago, fullTime, shortTime } from '../format.ts'

/** A moment: short where there is little room, exact on hover and for screen readers. */
export function When({ at, relative }: { at: string | null | undefined; relative?: boolean }) {
  if (!at) return <>–</>
  return (
    <Tooltip label={fullTime(at)}>
      <time dateTime={at}>{relative ? ago(at) : shortTime(at)}</time>
    </Tooltip>
  )
}

import { Tooltip } from '@mantine/core'
import { ago, exactTime, fullTime, shortTime } from '../format.ts'

/** A moment: short, how long ago, or to the second; in full on hover. */
export function When(props: { at: string | null | undefined; as?: 'relative' | 'exact' }) {
  const { at, as } = props
  if (!at) return <>–</>
  const write = as === undefined ? shortTime : { relative: ago, exact: exactTime }[as]
  return (
    <Tooltip label={fullTime(at)}>
      <time dateTime={at}>{write(at)}</time>
    </Tooltip>
  )
}

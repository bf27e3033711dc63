import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { t } from '../strings/index.ts'

export interface Bar {
  key: string
  /** What the bar stands for, such as a day. */
  label: string
  /** From the bottom up; one value for each series. */
  values: number[]
  /** Exactly what it shows, for the pointer and for screen readers. */
  title: string
  to?: { to: string; search: Record<string, string> }
}

export interface Series {
  name: string
  color: string
}

const WIDTH = 720
const HEIGHT = 160
const GAP = 0.25

/** A bar chart of few kilobytes: each bar leads to the list behind it, and is reached by the keyboard. */
export function Bars({ label, bars, series }: { label: string; bars: Bar[]; series: Series[] }) {
  const most = Math.max(...bars.map((bar) => total(bar)), 0)
  if (most === 0)
    return (
      <Text size="sm" c="dimmed" py="md">
        {t.dashboard.noData}
      </Text>
    )
  const step = WIDTH / bars.length
  return (
    <figure className="bars" aria-label={label}>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the figure is named, and so is each bar */}
      <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} width="100%" preserveAspectRatio="none">
        {bars.map((bar, index) => (
          <BarShape key={bar.key} bar={bar} series={series} x={index * step} width={step * (1 - GAP)} most={most} />
        ))}
      </svg>
      <Group justify="space-between" mt={4}>
        <Text size="xs" c="dimmed">
          {bars[0]?.label}
        </Text>
        <Group gap="sm">
          {series.length > 1 &&
            series.map((one) => (
              <Group key={one.name} gap={4}>
                <svg width="10" height="10" aria-hidden="true">
                  <rect width="10" height="10" rx="2" fill={one.color} />
                </svg>
                <Text size="xs" c="dimmed">
                  {one.name}
                </Text>
              </Group>
            ))}
        </Group>
        <Text size="xs" c="dimmed">
          {bars.at(-1)?.label}
        </Text>
      </Group>
    </figure>
  )
}

function BarShape(props: { bar: Bar; series: Series[]; x: number; width: number; most: number }) {
  const { bar, series, x, width, most } = props
  let top = HEIGHT
  const shapes = bar.values.map((value, index) => {
    const height = (value / most) * (HEIGHT - 4)
    top -= height
    return (
      <rect
        key={series[index]?.name}
        x={x}
        y={top}
        width={width}
        height={height}
        fill={series[index]?.color}
        rx={Math.min(2, width / 4)}
      />
    )
  })
  const content = (
    <>
      <title>{bar.title}</title>
      <rect x={x} y={0} width={width} height={HEIGHT} fill="transparent" />
      {shapes}
    </>
  )
  if (!bar.to || total(bar) === 0) return <g>{content}</g>
  return (
    <Link to={bar.to.to} search={bar.to.search as never} aria-label={bar.title} className="bar">
      {content}
    </Link>
  )
}

function total(bar: Bar): number {
  return bar.values.reduce((sum, value) => sum + value, 0)
}

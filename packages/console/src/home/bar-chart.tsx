import { Group, Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import { formatDay } from '#parts/format.ts'
import { Hint } from '#parts/values.tsx'
import { t } from '#strings/strings.ts'

export interface Bar {
  /** For example 2026-11-22. */
  day: string
  /** For a bar that is not a day: its label on the axis. */
  label?: string
  /** One value per series, from the bottom up. */
  values: number[]
  /** Its point on the curve; null if the curve is interrupted. */
  point?: number | null
  /** The exact values, for hover and for screen readers. */
  title: string
  to?: { to: string; search: Record<string, string> }
}

interface Series {
  name: string
  color: string
}

interface BarChartProps {
  label: string
  bars: Bar[]
  series: Series[]
  /** The name of a curve over the bars. */
  curve?: string
  /** Formats a value of the scale, with its unit. */
  format(value: number): string
}

const WIDTH = 720
const HEIGHT = 160
const GAP = 0.25

/**
 * A bar chart of a few kilobytes. Each bar links to the list behind it and can be reached by keyboard. Without data it has the
 * same height, so that cards in a row stay aligned.
 */
export function BarChart({ label, bars, series, curve, format }: BarChartProps) {
  const highest = Math.max(...bars.map((bar) => Math.max(total(bar), bar.point ?? 0)), 0)
  const top = scaleMaximum(highest)
  const step = WIDTH / bars.length
  const days = bars.length < 3 ? bars : [bars[0], bars[Math.floor((bars.length - 1) / 2)], bars.at(-1)]
  return (
    <figure className="bars" aria-label={label}>
      <Legend series={series} curve={curve} />
      <div className="bars-scale" aria-hidden="true">
        {(highest === 0 ? [0] : [top, top / 2, 0]).map((value) => (
          <span key={value}>{highest === 0 ? '' : format(value)}</span>
        ))}
      </div>
      {highest === 0 && (
        <Text size="sm" c="dimmed" className="bars-empty">
          {t.dashboard.noData}
        </Text>
      )}
      {highest > 0 && (
        // biome-ignore lint/a11y/noSvgWithoutTitle: the figure is named, and so is each bar
        <svg viewBox={`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none">
          {[0, HEIGHT / 2, HEIGHT].map((y) => (
            <line key={y} x1={0} x2={WIDTH} y1={y} y2={y} className="bars-line" />
          ))}
          {bars.map((bar, index) => (
            <BarShape
              key={bar.day}
              bar={bar}
              series={series}
              x={(index + GAP / 2) * step}
              width={step * (1 - GAP)}
              top={top}
            />
          ))}
          {curve !== undefined && <path className="bars-curve" d={curveOf(bars, step, top)} />}
        </svg>
      )}
      <div className="bars-days" aria-hidden="true">
        {days.map((bar) => bar && <span key={bar.day}>{bar.label ?? formatDay(bar.day)}</span>)}
      </div>
    </figure>
  )
}

/** A line from each point to the next; a point that stands alone is drawn as wide as a bar. */
function curveOf(bars: Bar[], step: number, top: number): string {
  return bars
    .map(({ point }, index) => {
      if (point === null || point === undefined) return ''
      const y = HEIGHT - (point / top) * HEIGHT
      const isFirst = index === 0 || bars[index - 1]?.point == null
      const isLast = bars[index + 1]?.point == null
      const start = isFirst ? `M${(index + GAP / 2) * step} ${y}` : ''
      const end = isLast ? `L${(index + 1 - GAP / 2) * step} ${y}` : ''
      return `${start}L${(index + 0.5) * step} ${y}${end}`
    })
    .join('')
}

function Legend({ series, curve }: { series: Series[]; curve: string | undefined }) {
  return (
    <Group component="figcaption" gap="sm" mb="xs" className="bars-legend">
      {series.map((one) => (
        <Group key={one.name} gap={4}>
          <svg width="10" height="10" aria-hidden="true">
            <rect width="10" height="10" rx="2" fill={one.color} />
          </svg>
          <Hint size="xs">{one.name}</Hint>
        </Group>
      ))}
      {curve !== undefined && (
        <Group gap={4}>
          <svg width="12" height="10" aria-hidden="true">
            <path d="M0 5L12 5" className="bars-curve" />
          </svg>
          <Hint size="xs">{curve}</Hint>
        </Group>
      )}
    </Group>
  )
}

/** The top of the scale: a round number that can be halved. */
function scaleMaximum(highest: number): number {
  const power = 10 ** Math.floor(Math.log10(Math.max(highest, 1)))
  return [2, 4, 6, 10, 20].map((step) => step * power).find((top) => top >= highest) ?? highest
}

function BarShape(props: { bar: Bar; series: Series[]; x: number; width: number; top: number }) {
  const { bar, series, x, width, top } = props
  let y = HEIGHT
  const shapes = bar.values.map((value, index) => {
    const height = (value / top) * HEIGHT
    y -= height
    return <rect key={series[index]?.name} x={x} y={y} width={width} height={height} fill={series[index]?.color} />
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

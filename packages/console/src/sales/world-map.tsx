import type { SalesReport } from '@dealer-esim/gateway/http/console/sales.ts'
import { Text } from '@mantine/core'
import { Link } from '@tanstack/react-router'
import type { ReactNode } from 'react'
import { formatMoney } from '#parts/format.ts'
import { t } from '#strings/strings.ts'
import { countryLabel } from './country.ts'
import { salesTooltip } from './margin.tsx'
import world from './world.json'

// world.json: outlines of Natural Earth (public domain), 1:110m in an equal-earth projection. `islands` are centres of
// countries that are too small to have an outline.

type Row = SalesReport['rows'][number]

const DOT_RADIUS = 5
/** The lightest shade that still stands out from a country without sales. */
const SHADE_MIN = 0.25

/** Sales by country: the darker, the more revenue. Each country with sales links to its orders. */
export function WorldMap(props: { rows: Row[]; currency: string; linkTo(row: Row): Record<string, string> }) {
  const { rows, currency, linkTo } = props
  const of = new Map(rows.map((row) => [row.key, row]))
  const highest = Math.max(...rows.filter((row) => !row.key.startsWith('!')).map((row) => row.revenue), 1)
  const several = rows.filter((row) => row.key.startsWith('!'))
  // A square root, because the first country often sells many times as much as the others.
  const shade = (row: Row) => SHADE_MIN + (1 - SHADE_MIN) * Math.sqrt(Math.max(0, row.revenue) / highest)
  const place = (code: string, shape: (opacity: number | undefined) => ReactNode) => {
    const row = of.get(code)
    if (row === undefined) return <g key={code}>{shape(undefined)}</g>
    const title = `${countryLabel(code, row.name)}: ${salesTooltip(row, currency)}`
    return (
      <Link
        key={code}
        to="/orders"
        search={linkTo(row) as never}
        aria-label={title}
        className="map-country"
        data-country={code}
      >
        <title>{title}</title>
        {shape(shade(row))}
      </Link>
    )
  }
  return (
    <figure className="map" aria-label={t.sales.map}>
      {/* biome-ignore lint/a11y/noSvgWithoutTitle: the figure is named, and so is each country */}
      <svg viewBox={`0 0 ${world.width} ${world.height}`}>
        <path d={world.others} className="map-land" />
        {Object.entries(world.countries).map(([code, path]) =>
          place(code, (opacity) => (
            <path d={path} className={opacity === undefined ? 'map-land' : 'map-sales'} fillOpacity={opacity} />
          )),
        )}
        {Object.entries(world.islands)
          .filter(([code]) => of.has(code))
          .map(([code, [x, y]]) =>
            place(code, (opacity) => (
              <circle cx={x} cy={y} r={DOT_RADIUS} className="map-sales" fillOpacity={opacity} />
            )),
          )}
      </svg>
      {several.length > 0 && (
        <Text component="figcaption" size="sm" c="dimmed">
          {several
            .map((row) => `${countryLabel(row.key, row.name)}: ${formatMoney(row.revenue, currency)}`)
            .join(' · ')}
        </Text>
      )}
    </figure>
  )
}

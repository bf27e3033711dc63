import { useLocalStorage } from '@mantine/hooks'

type Density = 'usual' | 'compact'

/** The row spacing of all lists, as the person chose in this browser. */
export function useDensity(): [Density, (density: Density) => void] {
  const [density, setDensity] = useLocalStorage<Density>({
    key: 'density',
    defaultValue: 'usual',
    getInitialValueInEffect: false,
  })
  return [density, setDensity]
}

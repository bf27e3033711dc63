import { useLocalStorage } from '@mantine/hooks'

type Density = 'usual' | 'compact'

/** How close the rows of all lists are, as the person chose it in this browser. */
export function useDensity(): [Density, (density: Density) => void] {
  const [density, setDensity] = useLocalStorage<Density>({
    key: 'density',
    defaultValue: 'usual',
    getInitialValueInEffect: false,
  })
  return [density, setDensity]
}

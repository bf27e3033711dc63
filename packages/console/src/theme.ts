import { type CSSVariablesResolver, createTheme, localStorageColorSchemeManager } from '@mantine/core'

export const colorSchemes = localStorageColorSchemeManager({ key: 'color-scheme' })

export const theme = createTheme({
  primaryColor: 'cyan',
  primaryShade: { light: 9, dark: 9 },
  autoContrast: true,
  luminanceThreshold: 0.35,
  defaultRadius: 'md',
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: { fontWeight: '650', sizes: { h1: { fontSize: '1.5rem' }, h2: { fontSize: '1.1rem' } } },
  components: {
    Modal: { defaultProps: { centered: true, overlayProps: { backgroundOpacity: 0.45, blur: 2 } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    Anchor: { defaultProps: { underline: 'hover' } },
  },
})

// Under the pointer a button gets darker, not lighter as by default: its white text stays readable, 4.5:1 and more.
const hover = { '--mantine-color-cyan-filled-hover': '#095a68', '--mantine-color-red-filled-hover': '#a51f1f' }
export const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: hover, dark: hover })

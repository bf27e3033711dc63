import {
  type CSSVariablesResolver,
  createTheme,
  defaultVariantColorsResolver,
  type MantineColorsTuple,
  type VariantColorsResolver,
} from '@mantine/core'
import { t } from '#strings/strings.ts'

/** Every shade is the token itself, so it does not matter which shade a component asks for. */
function shadesOf(token: string): MantineColorsTuple {
  return Array.from({ length: 10 }, () => token) as unknown as MantineColorsTuple
}

/** The components of the library, styled with the tokens of tokens.css. */
export const theme = createTheme({
  colors: { accent: shadesOf('var(--accent)') },
  primaryColor: 'accent',
  variantColorResolver: (input) => colorsOf(input),
  defaultRadius: 'md',
  radius: { sm: 'var(--radius-6)', md: 'var(--radius-8)', lg: 'var(--radius-12)' },
  spacing: {
    ...{ xs: 'var(--space-8)', sm: 'var(--space-16)', md: 'var(--space-16)' },
    ...{ lg: 'var(--space-24)', xl: 'var(--space-40)' },
  },
  fontSizes: {
    ...{ xs: 'var(--type-12)', sm: 'var(--type-14)', md: 'var(--type-14)' },
    ...{ lg: 'var(--type-16)', xl: 'var(--type-20)' },
  },
  lineHeights: { xs: '1.35', sm: '1.43', md: '1.43', lg: '1.5', xl: '1.4' },
  fontFamily: 'system-ui, -apple-system, "Segoe UI", Roboto, Arial, sans-serif',
  fontFamilyMonospace: 'ui-monospace, SFMono-Regular, Menlo, Consolas, monospace',
  headings: {
    fontWeight: '600',
    sizes: {
      h1: { fontSize: 'var(--type-20)', lineHeight: '1.4' },
      h2: { fontSize: 'var(--type-16)', lineHeight: '1.5' },
      h3: { fontSize: 'var(--type-14)', lineHeight: '1.43' },
    },
  },
  components: {
    // A button that names no colour would otherwise take the fill of check boxes instead of asking colorsOf.
    Button: { defaultProps: { color: 'accent' } },
    Paper: { defaultProps: { radius: 'lg' } },
    Modal: { defaultProps: { centered: true, radius: 'lg', overlayProps: { backgroundOpacity: 0.45 } } },
    Tooltip: { defaultProps: { withArrow: true, openDelay: 300 } },
    // The placeholder that takes the focus is not a menu item, which screen readers would report as a fault.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Anchor: { defaultProps: { underline: 'hover' } },
    Checkbox: { defaultProps: { size: 'sm' } },
    PasswordInput: { defaultProps: { visibilityToggleButtonProps: { 'aria-label': t.common.togglePassword } } },
  },
})

/** The library's colours for states. */
const STATES = {
  teal: { ink: 'var(--ok)', soft: 'var(--ok-soft)', filled: 'var(--ok)', on: 'var(--surface)' },
  orange: { ink: 'var(--warn)', soft: 'var(--warn-soft)', filled: 'var(--warn)', on: 'var(--surface)' },
  yellow: { ink: 'var(--warn)', soft: 'var(--warn-soft)', filled: 'var(--warn)', on: 'var(--surface)' },
  red: { ink: 'var(--bad)', soft: 'var(--bad-soft)', filled: 'var(--bad)', on: 'var(--on-bad)' },
  blue: { ink: 'var(--ink-2)', soft: 'var(--busy-soft)', filled: 'var(--ink-2)', on: 'var(--surface)' },
  gray: { ink: 'var(--ink-2)', soft: 'var(--busy-soft)', filled: 'var(--ink-2)', on: 'var(--surface)' },
  accent: { ink: 'var(--accent-text)', soft: 'var(--accent-soft)', filled: 'var(--accent)', on: 'var(--on-accent)' },
}

/** The text on a filled button is dark in the dark scheme, where its background is light. */
const colorsOf: VariantColorsResolver = (input) => {
  const colors = defaultVariantColorsResolver(input)
  const name = input.color ?? input.theme.primaryColor
  if (input.variant !== 'filled' || !(name in STATES)) return colors
  if (name !== 'accent') return { ...colors, color: `var(--mantine-color-${name}-contrast)` }
  return {
    ...colors,
    background: 'var(--accent-fill)',
    color: 'var(--on-fill)',
    border: 'var(--accent-border)',
  }
}

function stateVariables(): Record<string, string> {
  const entries = Object.entries(STATES).flatMap(([name, { ink, soft, filled, on }]) => [
    [`--mantine-color-${name}-filled`, filled],
    [`--mantine-color-${name}-filled-hover`, name === 'accent' ? 'var(--accent-hover)' : filled],
    [`--mantine-color-${name}-contrast`, on],
    [`--mantine-color-${name}-text`, ink],
    [`--mantine-color-${name}-light`, soft],
    [`--mantine-color-${name}-light-hover`, soft],
    [`--mantine-color-${name}-light-color`, ink],
    [`--mantine-color-${name}-outline`, ink],
  ])
  return {
    ...Object.fromEntries(entries),
    '--mantine-color-red-filled-hover': 'var(--bad-hover)',
    '--mantine-color-body': 'var(--surface)',
    '--mantine-color-text': 'var(--ink)',
    '--mantine-color-dimmed': 'var(--ink-2)',
    '--mantine-color-placeholder': 'var(--ink-3)',
    '--mantine-color-default': 'var(--surface)',
    '--mantine-color-default-hover': 'var(--hover)',
    '--mantine-color-default-color': 'var(--ink)',
    '--mantine-color-default-border': 'var(--line-button)',
    '--mantine-color-disabled': 'var(--busy-soft)',
    '--mantine-color-disabled-color': 'var(--ink-3)',
    '--mantine-color-disabled-border': 'var(--line)',
    '--mantine-color-anchor': 'var(--accent-text)',
    '--mantine-color-error': 'var(--bad)',
    '--mantine-primary-color-filled': 'var(--accent)',
    '--mantine-primary-color-filled-hover': 'var(--accent-hover)',
    '--mantine-primary-color-contrast': 'var(--on-accent)',
    '--mantine-primary-color-light': 'var(--accent-soft)',
    '--mantine-primary-color-light-hover': 'var(--accent-soft)',
    '--mantine-primary-color-light-color': 'var(--accent-text)',
  }
}

/** The same names in both schemes: each token has its own two colours. */
export const cssVariables: CSSVariablesResolver = () => {
  const variables = stateVariables()
  return { variables: {}, light: variables, dark: variables }
}

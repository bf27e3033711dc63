import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './console.css'
import './lists/lists.css'
import { type CSSVariablesResolver, createTheme, localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchActivity } from './api/call-api.ts'
import { queryClient } from './api/use-api.ts'
import { ignoreDoubleSubmits } from './layout/double-submit.ts'
import { FrontDoor } from './layout/front-door.tsx'
import { language } from './strings/strings.ts'

const colorSchemes = localStorageColorSchemeManager({ key: 'color-scheme' })

const theme = createTheme({
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
    // The placeholder that takes the focus is not an item of the menu: screen readers would report that as a fault.
    Menu: { defaultProps: { withInitialFocusPlaceholder: false } },
    Anchor: { defaultProps: { underline: 'hover' } },
  },
})

// Buttons get darker on hover, not lighter as by default, so that white text keeps a contrast of at least 4.5:1.
const hover = { '--mantine-color-cyan-filled-hover': '#095a68', '--mantine-color-red-filled-hover': '#a51f1f' }
const cssVariables: CSSVariablesResolver = () => ({ variables: {}, light: hover, dark: hover })

// The content security policy allows only style elements with this page's nonce. Libraries read it from this global.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''
Object.assign(globalThis, { __webpack_nonce__: nonce })
document.documentElement.lang = language
watchActivity()
ignoreDoubleSubmits(window)

const Application = lazy(async () => ({ default: (await import('./router.tsx')).Application }))

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemes}
      getStyleNonce={() => nonce}
    >
      {/* At the bottom: a notification stays open under the pointer, and would cover buttons at the top. */}
      <Notifications position="bottom-center" />
      <QueryClientProvider client={queryClient}>
        <FrontDoor application={Application} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)

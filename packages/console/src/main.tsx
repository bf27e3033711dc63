import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './design/tokens.css'
import './console.css'
import './design/record.css'
import './design/buying.css'
import './design/ticket.css'
import './design/layout.css'
import './lists/lists.css'
import { localStorageColorSchemeManager, MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { lazy, StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchActivity } from './api/call-api.ts'
import { queryClient } from './api/use-api.ts'
import { wearBrand } from './brands/shown-brand.ts'
import { cssVariables, theme } from './design/theme.ts'
import { keepFocusOfBusyButtons } from './layout/busy-focus.ts'
import { ignoreDoubleSubmits } from './layout/double-submit.ts'
import { FrontDoor } from './layout/front-door.tsx'
import { language } from './strings/strings.ts'

const colorSchemes = localStorageColorSchemeManager({ key: 'color-scheme' })

// The content security policy allows only style elements with this page's nonce. Libraries read it from this global.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''
Object.assign(globalThis, { __webpack_nonce__: nonce })
document.documentElement.lang = language
wearBrand()
watchActivity()
ignoreDoubleSubmits(window)
keepFocusOfBusyButtons(document)

const Application = lazy(async () => ({ default: (await import('./router.tsx')).Application }))

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      // The build drops the library's defaults, so that a first visit does not carry them twice.
      deduplicateCssVariables={false}
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

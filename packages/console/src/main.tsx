import '@mantine/core/styles.css'
import '@mantine/notifications/styles.css'
import './console.css'
import { MantineProvider } from '@mantine/core'
import { Notifications } from '@mantine/notifications'
import { QueryClientProvider } from '@tanstack/react-query'
import { RouterProvider } from '@tanstack/react-router'
import { StrictMode } from 'react'
import { createRoot } from 'react-dom/client'
import { watchAttendance } from './attendance.ts'
import { router } from './router.tsx'
import { language } from './strings/index.ts'
import { colorSchemes, cssVariables, theme } from './theme.ts'
import { queryClient } from './use-api.ts'

// Style elements carry this page's nonce; the policy allows no other. Libraries read the global one.
const nonce = document.querySelector<HTMLMetaElement>('meta[name=style-nonce]')?.content ?? ''
Object.assign(globalThis, { __webpack_nonce__: nonce })
document.documentElement.lang = language
watchAttendance()

createRoot(document.getElementById('root')!).render(
  <StrictMode>
    <MantineProvider
      theme={theme}
      cssVariablesResolver={cssVariables}
      defaultColorScheme="auto"
      colorSchemeManager={colorSchemes}
      getStyleNonce={() => nonce}
    >
      {/* Not over the buttons of headings and cards: a notice under the pointer stays, and would keep them covered. */}
      <Notifications position="bottom-center" />
      <QueryClientProvider client={queryClient}>
        <RouterProvider router={router} />
      </QueryClientProvider>
    </MantineProvider>
  </StrictMode>,
)

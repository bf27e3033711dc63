import react from '@vitejs/plugin-react'
import { defineConfig, type ProxyOptions } from 'vite'
import { compiledMessages } from './compiled-messages.ts'
import { roundFlags } from './light-flags.ts'

const gateway = process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080'

/** The gateway refuses changes by pages of other origins, and the development server is one. */
const toGateway: ProxyOptions = { target: gateway, changeOrigin: true, headers: { origin: gateway } }

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Relative to <base>, which the gateway writes: the console works below any path prefix.
  base: command === 'serve' ? '/console/' : './',
  plugins: [react(), roundFlags(), compiledMessages()],
  build: {
    target: 'es2022',
    sourcemap: false,
    // Which chunk needs which: a test measures the first load by it.
    manifest: true,
    // One stylesheet: a second request would come later than what it styles.
    cssCodeSplit: false,
    // Charts are loaded by the pages that show them.
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Each language is two files of its own, English too: what the start needs, and what further pages need.
            { name: 'en', test: /strings[\\/]en\.json$/ },
            { name: 'en-pages', test: /strings[\\/]en\.json\?pages\.json$/ },
            // A file each for what changes together, with all that it imports, instead of fifty: fewer requests, and less to load.
            {
              name: 'react',
              test: /rolldown[\\/]runtime|node_modules[\\/](react|react-dom|scheduler|@tanstack[\\/](react-query|query-core))[\\/]/,
            },
            // What the sign-in page needs. It loads nothing else.
            {
              name: 'sign-in',
              test: /node_modules[\\/]@mantine[\\/](notifications|core[\\/]esm[\\/]core)[\\/]|src[\\/](api[\\/]|layout[\\/]front-door|people[\\/](sign-in[\\/]sign-in|account[\\/]sign-in-language)|brands[\\/]shown-brand|parts[\\/](load-states|notify))/,
            },
            { name: 'router', test: /node_modules[\\/]@tanstack[\\/]/ },
            // What every page of the console needs: the frame, lists, dialogs and the names of things.
            {
              name: 'console',
              test: /contract[\\/]src[\\/]enumerations|src[\\/](sales[\\/]margin|lists[\\/](?!bulk-dialog)[^\\/]+|people[\\/]sign-in[\\/]secret-store|layout[\\/](layout|user-menu)|parts[\\/](page|values|record-list|list-columns|filters|dialog|use-filters|dealer-filter)|catalogue[\\/](catalogue-paths|package-name|flags[\\/]flag)|tenants[\\/](dealer-name|explorer[\\/]explorer-button)|orders[\\/](order-number|evidence-field|buying[\\/](buy-button|countries)))\.tsx?$/,
            },
            // The charts and cards of the dashboard. Other pages with charts load it too.
            {
              name: 'home',
              test: /src[\\/](home[\\/](?!dashboard)([^\\/]+|setup[\\/]checklist)|sales[\\/](period-choice|sales-chart|sales-overview))\.tsx?$/,
            },
            // Otherwise these become a part of the guided start.
            { name: 'page-texts', test: /strings[\\/]page-texts\.ts$/ },
            { name: 'segmented-control', test: /SegmentedControl\.mjs$/ },
            { name: 'guided-start', test: /src[\\/]home[\\/]setup[\\/](?!checklist)/ },
          ],
        },
      },
    },
  },
  // npm run dev
  server: { proxy: { '/console/api': toGateway, '/open-api': toGateway, '/docs': toGateway, '/qr': toGateway } },
}))

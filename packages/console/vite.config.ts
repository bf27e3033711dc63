import react from '@vitejs/plugin-react'
import { defineConfig, type ProxyOptions } from 'vite'

const gateway = process.env.GATEWAY_URL ?? 'http://127.0.0.1:8080'

/** The gateway refuses changes by pages of other origins, and the development server is one. */
const toGateway: ProxyOptions = { target: gateway, changeOrigin: true, headers: { origin: gateway } }

export default defineConfig(({ command }) => ({
  root: import.meta.dirname,
  // Relative to <base>, which the gateway writes: the console works below any path prefix.
  base: command === 'serve' ? '/console/' : './',
  plugins: [react()],
  build: {
    target: 'es2022',
    sourcemap: false,
    // Which chunk needs which: a test measures the first load by it.
    manifest: true,
    // Charts are loaded by the pages that show them.
    chunkSizeWarningLimit: 700,
    rolldownOptions: {
      output: {
        codeSplitting: {
          groups: [
            // Each language is a file of its own, English too.
            { name: 'en', test: /strings[\\/]en\.json$/ },
            // What every page needs, in two files instead of thirty: 14 kB less when compressed.
            { name: 'libraries', test: /node_modules[\\/](react|react-dom|scheduler|@tanstack)[\\/]/ },
            {
              name: 'console',
              test: /console[\\/]src[\\/](api|session|parts[\\/](page|load-states|values|format|notify|use-filters))/,
            },
          ],
        },
      },
    },
  },
  // npm run dev
  server: { proxy: { '/console/api': toGateway, '/open-api': toGateway, '/docs': toGateway, '/qr': toGateway } },
}))

import react from '@vitejs/plugin-react'
import { defineConfig } from 'vite'

export default defineConfig({
  root: import.meta.dirname,
  // Relative to <base>, which the gateway writes: the console works below any path prefix.
  base: './',
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
  server: { proxy: { '/console/api': 'http://127.0.0.1:8080', '/open-api': 'http://127.0.0.1:8080' } },
})

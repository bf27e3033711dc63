/// <reference types="vite/client" />

/** Its end says that it is JSON, to the bundler. */
declare module '*.json?pages.json' {
  const texts: import('./strings/text-parts.ts').PageTexts
  export default texts
}

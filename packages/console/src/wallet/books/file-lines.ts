/** The lines of a file, without line ends, while it is read: a file of millions of entries is never one string. */
export async function* linesOf(stream: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const decoder = new TextDecoder()
  const reader = stream.getReader()
  let rest = ''
  try {
    for (;;) {
      const { done, value } = await reader.read()
      const lines = (rest + decoder.decode(value, { stream: !done })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (done) break
    }
    yield rest
  } finally {
    reader.releaseLock()
  }
}

/** Tells a listener. What it throws or rejects with must change nothing of what it is told, and yet be seen. */
export async function tell<T>(listener: ((told: T) => unknown) | undefined, told: T): Promise<void> {
  try {
    await listener?.(told)
  } catch (error) {
    console.error(error)
  }
}

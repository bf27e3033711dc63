/** The product's mark. */
export function Mark({ size = 28 }: { size?: number }) {
  return (
    <svg viewBox="0 0 32 32" width={size} height={size} aria-hidden="true">
      <rect width="32" height="32" rx="8" fill="#0c8599" />
      <path d="M10 7h8l5 5v13H10z" fill="none" stroke="#fff" strokeWidth="2" strokeLinejoin="round" />
      <rect x="13" y="15" width="7" height="7" rx="1.5" fill="none" stroke="#fff" strokeWidth="2" />
    </svg>
  )
}

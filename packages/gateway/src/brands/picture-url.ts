/**
 * The address of a brand's picture: `/brand/` + tenant and hash of the content, both hexadecimal, + `.png`. It names the tenant,
 * because the picture is found by its key. The content never changes, so it may be cached for ever.
 */
export function pictureUrl(publicUrl: string, tenantId: string, hash: string): string {
  return `${publicUrl}${picturePath(tenantId, hash)}`
}

export function picturePath(tenantId: string, hash: string): string {
  return `/brand/${tenantId.replaceAll('-', '')}${hash}.png`
}

/** @returns undefined for a name that is not one of ours */
export function readPictureName(name: string): { tenantId: string; hash: string } | undefined {
  const [, ...parts] =
    /^([0-9a-f]{8})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{4})([0-9a-f]{12})([0-9a-f]{32})\.png$/.exec(name) ?? []
  const hash = parts.pop()
  return hash === undefined ? undefined : { tenantId: parts.join('-'), hash }
}

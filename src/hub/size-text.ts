// How many bytes a download has, in words.

/** As the hub's pages have it: powers of ten. */
export function sizeText(bytes: number): string {
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

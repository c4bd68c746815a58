// Quantiles, as NumPy has them by default and Python under 'inclusive'.

/** The value below which a share (0 to 1) of sorted values lies, between two of them in proportion; undefined where there are none. */
export function quantile(sorted: readonly number[], share: number): number | undefined {
  const at = share * (sorted.length - 1);
  const [below, above] = [sorted[Math.floor(at)], sorted[Math.ceil(at)]];
  return below === undefined || above === undefined ? undefined : below + (above - below) * (at - Math.floor(at));
}

// What a measure's numbers mean: their range, and which direction is better.

/** One measure, such as a text similarity or bits per byte. */
export interface Measure {
  /** Its lowest and highest value; `-Infinity` or `Infinity` if unbounded. */
  readonly range: readonly [low: number, high: number];
  /** Which direction is better; a target if one value is best. */
  readonly better: 'larger' | 'smaller' | 'neither' | { readonly target: number };
  /** Its name in explanations; plain `measure` if absent. */
  readonly words?: MeasureWords;
  /** Whether it represents a run that has several measures and no ratings. */
  readonly leads?: boolean;
  /** Whether it has bounds by chance when all rows have the same value (`boundsOf`); else it has no interval then. */
  readonly bounded?: boolean;
}

/** What measures of one kind are called. */
export interface MeasureWords {
  /** Singular and plural, such as `text measure` and `text measures`. */
  readonly one: string;
  readonly many: string;
  /** What they measure, such as `of prediction against ground truth`. */
  readonly of?: string;
}

const PLAIN_WORDS: MeasureWords = { one: 'measure', many: 'measures' };

/** A larger value is garbage, however wide the range; below this, means and squares stay finite. */
export const LARGEST_MEASURE = 1e100;

/** Looks up a measure by its name. */
export type MeasureLookup = (name: string) => Measure;

/** The default for undeclared measures: 0 to 100, larger is better. */
export const DEFAULT_MEASURE: Measure = { range: [0, 100], better: 'larger' };

/** The lookup of declared measures; every other name gets the default. */
export function measuresOf(declared: Readonly<Record<string, Measure>> = {}): MeasureLookup {
  return (name) => (Object.hasOwn(declared, name) ? declared[name] : undefined) ?? DEFAULT_MEASURE;
}

export function measureWords({ words = PLAIN_WORDS }: Measure): MeasureWords {
  return words;
}

/** How good a value is, as a number that grows as the measure gets better; undefined if neither direction is better. */
export function goodness({ better }: Measure, value: number): number | undefined {
  if (better === 'larger') return value;
  if (better === 'smaller') return -value;
  return better === 'neither' ? undefined : -Math.abs(value - better.target);
}

// What a measure's numbers mean: where they end, and which way is better.

/** One measure, such as a text similarity or bits a byte. */
export interface Measure {
  /** Its lowest and highest value; `-Infinity` or `Infinity` where it has no end. */
  readonly range: readonly [low: number, high: number];
  /** Which way is better; a target where it is best at one value. */
  readonly better: 'larger' | 'smaller' | 'neither' | { readonly target: number };
  /** What it is called where it is explained; `measure` alone where absent. */
  readonly words?: MeasureWords;
  /** Whether it stands for a run without ratings that has several measures. */
  readonly leads?: boolean;
  /** Whether chance bounds it where all rows say the same (`boundsOf`); else it has no interval there. */
  readonly bounded?: boolean;
}

/** What measures of one kind are called. */
export interface MeasureWords {
  /** One of them and several, such as `text measure` and `text measures`. */
  readonly one: string;
  readonly many: string;
  /** What they measure, such as `of prediction against ground truth`. */
  readonly of?: string;
}

const PLAIN_WORDS: MeasureWords = { one: 'measure', many: 'measures' };

/** A larger value is damage, however wide the range: of smaller ones means and squares still hold. */
export const LARGEST_MEASURE = 1e100;

/** What is known of a measure by its name. */
export type MeasureLookup = (name: string) => Measure;

/** What holds for a measure that nobody declares: 0 to 100, larger is better. */
export const DEFAULT_MEASURE: Measure = { range: [0, 100], better: 'larger' };

/** The lookup of declared measures; every other name gets the default. */
export function measuresOf(declared: Readonly<Record<string, Measure>> = {}): MeasureLookup {
  return (name) => (Object.hasOwn(declared, name) ? declared[name] : undefined) ?? DEFAULT_MEASURE;
}

/** What a measure is called. */
export function measureWords({ words = PLAIN_WORDS }: Measure): MeasureWords {
  return words;
}

/** How good a value is, as a number that grows as the measure gets better; undefined where neither way is better. */
export function goodness({ better }: Measure, value: number): number | undefined {
  if (better === 'larger') return value;
  if (better === 'smaller') return -value;
  return better === 'neither' ? undefined : -Math.abs(value - better.target);
}

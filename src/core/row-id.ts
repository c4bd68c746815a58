// The id of a record: which row, which repeat, and which judgement of that prediction. Made and parsed only here.

/** What an id identifies; `repeat` and `index` are 0-based. */
interface RowId {
  readonly key: string;
  readonly repeat: number;
  readonly index: number;
}

/** `key#repeat`, or `key#variant` in a calibration, followed by the index from the prediction's second judgement on. */
export function rowId(key: string, prediction: number | string, index = 0): string {
  return index === 0 ? `${key}#${prediction}` : `${key}#${prediction}#${index}`;
}

/** The id of a judged row's record. */
export function rowIdOf({ key, repeat, index }: RowId): string {
  return rowId(key, repeat, index);
}

/** What an id identifies; undefined if it is not an id. */
export function parseRowId(id: string): RowId | undefined {
  const { key, repeat, index = '0' } = /^(?<key>.*?)#(?<repeat>\d+)(?:#(?<index>\d+))?$/s.exec(id)?.groups ?? {};
  return key === undefined ? undefined : { key, repeat: Number(repeat), index: Number(index) };
}

// What a run is: which stage made it, and whom it asks.

export const RUN_KINDS = ['infer', 'judge', 'calibrate', 'likelihood', 'scenarios', 'simulate'] as const;

export type RunKind = (typeof RUN_KINDS)[number];

/** Whether the run puts rows to the world model; the others ask a judge, or nobody. */
export function asksWorldModel(kind: RunKind | undefined): boolean {
  return kind !== undefined && kind !== 'judge' && kind !== 'calibrate';
}

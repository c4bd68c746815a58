// The list of runs.

import type { PageProps } from '../route.js';

export function RunsPage({ index }: PageProps) {
  return <p>{index.runs.length}</p>;
}

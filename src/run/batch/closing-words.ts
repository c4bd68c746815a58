// What a run says at its end of its batch files: what has come, what is left, and who can answer it.

import { join } from 'node:path';
import type { BatchReport } from '../../core/batch-report.js';
import { bytesText, counted, grouped } from '../../core/figures.js';
import { printable } from '../../core/printable.js';
import { shellLine } from '../../core/shell.js';
import type { Io } from '../../core/types.js';
import { shownPath } from '../../settings/shown-path.js';

/** How many files are listed: the latest. */
const MOST_PARTS = 10;

/** The state of each file, and what is odd about the results. */
export function batchLines({ dir, parts, awaited, written, isLive, notes }: BatchReport, io: Io): string[] {
  if (parts.length === 0) return [];
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const late = requests - parts.reduce((sum, part) => sum + part.answered, 0);
  const fresh = written === 0 ? '' : `, ${grouped(written)} of them written now`;
  const earlier = parts.length - MOST_PARTS;
  return [
    `batch: ${grouped(awaited)} of ${counted(requests, 'result', 'results', grouped)} awaited in ${shownPath(dir, io)}${fresh}`,
    ...(earlier > 0 ? [`  ${counted(earlier, 'earlier file')}, and`] : []),
    ...parts
      .slice(-MOST_PARTS)
      .map(
        (part) =>
          `  ${part.file}: ${counted(part.requests, 'request', 'requests', grouped)} (${bytesText(part.bytes)}), ${grouped(part.answered)} answered, ${grouped(part.awaited)} awaited`,
      ),
    ...notes.map((note) => `  ${printable(note)}`),
    ...(isLive && late > 0
      ? [`  without a result, so that rows were asked live and later ones are ignored: ${grouped(late)}`]
      : []),
  ];
}

/** Who can answer what is awaited. `same` is the command that reads it. */
export function batchSteps({ dir, model, parts }: BatchReport, same: string, program: string, io: Io): string[] {
  const shown = shownPath(dir, io);
  const file = parts.find((part) => part.awaited > 0)?.file ?? '';
  const results = file.replace('requests', 'outputs');
  return [
    'next: have the requests answered by one of',
    `  ${program} ${shellLine(['batch', 'submit', shown])}`,
    `  ${program} ${shellLine(['batch', 'run', shown, '--local', 'MODEL'])}`,
    `  ${shellLine(['vllm', 'run-batch', '-i', join(shown, file), '-o', join(shown, results), '--model', model])}`,
    `or put result files (*.jsonl) into ${shown}; then ${same} reads them`,
  ];
}

/** The same for programs. */
export function batchDocument({ dir, parts, awaited, written, notes }: BatchReport) {
  return { dir, awaited, written, parts, notes };
}

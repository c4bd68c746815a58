// awb merge: run folders of parts, such as the shards of several machines, joined into the folder of one run.

import { EXIT, type ExitCode } from '../core/errors.js';
import { counted, printable, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { defineCommand, type Settings } from '../settings/command.js';
import { type JoinedRun, MERGE_OPTIONS, mergeRuns } from './merge/merging.js';

export const command = defineCommand({
  description:
    'Joins the output folders of parts of one run, predictions and judgings alike, into one folder with the same files that an unsharded run would have written. Every later command reads it, and the unsharded awb infer goes on with what is missing in it.',
  examples: {
    'awb merge out/part-* --output-dir out/whole': 'eight shards, inferred and judged',
    'awb merge out/part-3 --output-dir out/whole': 'a part that came late',
    'awb merge judged-* --predictions predictions.jsonl --output-dir whole':
      'judgings of parts of a file that lies elsewhere',
  },
  options: MERGE_OPTIONS,
  operands: ['runs'],
  run: merge,
});

async function merge(settings: Settings<typeof MERGE_OPTIONS>, io: Io): Promise<ExitCode> {
  const { runs, notes } = await mergeRuns(settings, io);
  const isWhole = runs.every(({ manifest, astray }) => manifest.state === 'complete' && astray === 0);
  const exitCode = isWhole ? EXIT.done : EXIT.incomplete;
  const document = { schema: 'awb.merge/1', exit_code: exitCode, runs: runs.map(documentOf), notes };
  const lines = [...runs.flatMap((run) => linesOf(run, io)), ...notes.map((note) => `note: ${printable(note)}`)];
  io.stdout.write(`${settings.json ? JSON.stringify(document) : lines.join('\n')}\n`);
  return exitCode;
}

function documentOf({ name, parts, join, manifest, missing, astray, reasons }: JoinedRun) {
  return {
    run: name,
    kind: manifest.kind,
    state: manifest.state,
    output: manifest.output?.file,
    fingerprint: manifest.fingerprint,
    chosen: manifest.chosen,
    counts: manifest.counts,
    reasons,
    missing,
    astray,
    parts: parts.flatMap(({ dir, isOwn, manifest: { settings, state } }, at) => {
      const shard = typeof settings.shard === 'string' ? { shard: settings.shard } : {};
      return isOwn ? [] : { dir, ...shard, state, rows: join.rows[at] };
    }),
    duplicates: { alike: join.alike, mended: join.mended, kept: join.kept },
    damages: join.damages,
  };
}

function linesOf({ name, parts: all, join, manifest, missing, astray, reasons }: JoinedRun, io: Io): string[] {
  const parts = all.filter(({ isOwn }) => !isOwn);
  const { counts, output, kind } = manifest;
  // Of several names of a checkpoint one is taken.
  const [label, ...labels] = new Set(all.flatMap((part) => part.manifest.label ?? []));
  const several = (count: number, what: string) => count > 0 && `${counted(count, 'row')} in several parts ${what}`;
  const isLacking = Object.keys(missing).length > 0;
  const lines = [
    counts.failed > 0 && `failed: ${listed(counts.failures)}`,
    ...Object.entries(reasons).map(([failure, reason]) => `  ${failure}, for example: ${reason}`),
    isLacking && `missing: ${listed(missing)}`,
    astray > 0 &&
      `${counted(astray, 'judgement')} of predictions that are not there, left out: merge those predictions, too`,
    labels.length > 0 && `labelled ${label}; other parts: ${labels.join(', ')}`,
    ...parts.map(
      ({ name, manifest: { state } }) =>
        !['complete', 'incomplete'].includes(state) && `${name} is ${state}: its rows so far are taken`,
    ),
    several(join.alike, 'with the same record: it counts once'),
    several(join.mended, 'of which one has failed: the other one counts'),
    several(join.kept, 'with other records than the folder had: what it had is kept'),
    ...join.damages,
    output !== undefined && `written: ${shownPath(output.file, io)}`,
    isLacking && kind !== 'judge' && 'next: the command of the parts without --shard asks what is missing here',
  ];
  const done = `${name}: ${counts.ok} of ${counts.chosen} done, from ${counted(parts.length, 'part')}`;
  return [done, ...lines.flatMap((line) => (line === false ? [] : `  ${printable(line)}`))];
}

function listed(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

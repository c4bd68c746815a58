// What a merge came to, for people and as JSON.

import { EXIT, type ExitCode } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import { printable } from '../../core/printable.js';
import type { Io } from '../../core/types.js';
import type { Manifest } from '../../run/manifest.js';
import { shownPath } from '../../settings/shown-path.js';
import type { JoinedRun } from './merging.js';

/** Whole where every run is. */
export function mergeExit(runs: readonly JoinedRun[]): ExitCode {
  return runs.every(({ manifest, astray }) => manifest.state === 'complete' && astray === 0)
    ? EXIT.done
    : EXIT.incomplete;
}

export function mergeDocument(runs: readonly JoinedRun[], notes: readonly string[]) {
  return {
    schema: 'awb.merge/1',
    exit_code: mergeExit(runs),
    runs: runs.map(({ name, own, parts, join, manifest, missing, lacking, astray, reasons }) => ({
      run: name,
      kind: manifest.kind,
      state: manifest.state,
      output: manifest.output?.file,
      fingerprint: manifest.fingerprint,
      chosen: manifest.chosen,
      counts: manifest.counts,
      reasons,
      missing: Object.fromEntries(missing),
      missing_shards: lacking,
      astray,
      parts: parts.map(({ dir, manifest: { settings, state } }, at) => ({
        dir,
        ...(typeof settings.shard === 'string' ? { shard: settings.shard } : {}),
        state,
        rows: join.rows[at + (own === undefined ? 0 : 1)],
      })),
      duplicates: { alike: join.alike, mended: join.mended, kept: join.kept },
      damages: join.damages,
    })),
    notes,
  };
}

export function mergeText(runs: readonly JoinedRun[], notes: readonly string[], io: Io): string {
  const lines = [...runs.flatMap((run) => linesOf(run, io)), ...notes.map((note) => `note: ${printable(note)}`)];
  return `${lines.join('\n')}\n`;
}

function linesOf(run: JoinedRun, io: Io): string[] {
  const { name, own, parts, join, manifest, missing, lacking, astray, reasons } = run;
  const { counts, output, kind } = manifest;
  const of = `from ${counted(parts.length, 'part')}`;
  const failures = Object.entries(counts.failures).map(([failure, count]) => `${failure} ${count}`);
  return [
    `${name}: ${counts.ok} of ${counts.chosen} done, ${of}`,
    ...(failures.length === 0 ? [] : [`  failed: ${failures.join(', ')}`]),
    ...Object.entries(reasons).map(([failure, reason]) => `    ${failure}, for example: ${printable(reason)}`),
    ...(missing.size === 0
      ? []
      : [`  missing: ${[...missing].map(([domain, rows]) => `${domain} ${rows}`).join(', ')}`]),
    ...lacking.map(({ shard, rows }) => `    of shard ${shard}, which no part is: ${counted(rows, 'row')}`),
    ...(astray === 0
      ? []
      : [
          `  ${counted(astray, 'judgement')} of predictions that are not there, left out: merge those predictions, too`,
        ]),
    ...labelText(own === undefined ? parts : [own, ...parts]),
    ...parts.flatMap((part) => stateText(part.name, part.manifest)),
    ...duplicatesText(join),
    ...join.damages.map((damage) => `  ${printable(damage)}`),
    ...(output === undefined ? [] : [`  written: ${shownPath(output.file, io)}`]),
    ...(missing.size > 0 && kind !== 'judge'
      ? ['  next: the command of the parts without --shard asks what is missing here']
      : []),
  ];
}

/** Of several names of a checkpoint one is taken. */
function labelText(parts: JoinedRun['parts']): string[] {
  const [first, ...others] = new Set(parts.flatMap(({ manifest }) => manifest.label ?? []));
  return others.length === 0
    ? []
    : [`  labelled ${printable(first ?? '')}; other parts: ${printable(others.join(', '))}`];
}

/** A part that has not come to its end. */
function stateText(name: string, { state, process }: Manifest): string[] {
  switch (state) {
    case 'running':
      return [
        `  ${name} is running, or was killed (process ${process?.pid} on ${process?.host}): its rows so far are taken`,
      ];
    case 'interrupted':
    case 'stopped':
      return [`  ${name} was ${state}: its rows so far are taken`];
    default:
      return state === 'complete' || state === 'incomplete' ? [] : [`  ${name} is ${state}: its rows so far are taken`];
  }
}

function duplicatesText({ alike, mended, kept }: JoinedRun['join']): string[] {
  const said: readonly (readonly [number, string])[] = [
    [alike, 'with the same record: it counts once'],
    [mended, 'of which one has failed: the other one counts'],
    [kept, 'with other records than the folder had: what it had is kept'],
  ];
  return said.flatMap(([count, what]) => (count === 0 ? [] : [`  ${counted(count, 'row')} in several parts ${what}`]));
}

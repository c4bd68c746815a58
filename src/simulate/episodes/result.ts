// What episodes have come to: the document of --json, and the last words on the terminal.

import type { ExitCode } from '../../core/errors.js';
import { counted, grouped } from '../../core/figures.js';
import { keysOf } from '../../core/keys.js';
import { printable } from '../../core/printable.js';
import type { Io, Usage } from '../../core/types.js';
import { spendingOf, spendingText } from '../../run/budget.js';
import type { Manifest } from '../../run/manifest.js';
import { sameCommand, wayOn } from '../../run/session.js';
import { shownPath } from '../../settings/shown-path.js';
import type { EpisodeSettings } from './options.js';
import { PLAYERS, type Purse } from './purse.js';
import { ENDS, type End, type Ending } from './records.js';
import type { SessionResult } from './session.js';

export interface EpisodesResult extends SessionResult {
  readonly manifest: Manifest;
  readonly exitCode: ExitCode;
  /** Of all episodes that have ended, in this session or before. */
  readonly endings: readonly Ending[];
  /** Rows in the output: an episode without a step has none. */
  readonly rows: number;
  readonly purse: Purse;
  readonly seconds: number;
}

/** Prints what it came to on stdout, as text or, under `--json`, as one document. */
export function printEpisodes(io: Io, settings: EpisodeSettings, result: EpisodesResult, next: string): void {
  const text = settings.json
    ? JSON.stringify(documentOf(result, settings))
    : linesOf(io, settings, result, next).join('\n');
  io.stdout.write(`${text}\n`);
}

function documentOf(result: EpisodesResult, settings: EpisodeSettings) {
  const { manifest, endings, purse, spent, rows } = result;
  const { chosen, ok, failed, notDone } = manifest.counts;
  return {
    schema: 'awb.simulate/1',
    exit_code: result.exitCode,
    state: manifest.state,
    stop_reason: spent,
    output: manifest.output?.file,
    label: manifest.label,
    meta: manifest.meta,
    fingerprint: manifest.fingerprint,
    episodes: { chosen, ended: ok, failed, not_done: notDone, by_domain: manifest.chosen },
    ends: endsOf(endings),
    rows,
    steps: stepsOf(endings),
    failures: Object.fromEntries(result.failures),
    tokens: Object.fromEntries(PLAYERS.map((player) => [player, purse[player].usage])),
    calls: Object.fromEntries(PLAYERS.map((player) => [player, purse[player].calls])),
    served_models: Object.fromEntries(PLAYERS.map((player) => [player, [...purse[player].served]])),
    spent: spendingOf(purse, settings),
    notices: manifest.notices,
    seconds: result.seconds,
  };
}

function linesOf(io: Io, settings: EpisodeSettings, result: EpisodesResult, next: string): string[] {
  const { manifest, endings, purse, rows } = result;
  const { chosen, ok } = manifest.counts;
  const steps = stepsOf(endings);
  const mean = ok === 0 ? '' : `, ${(steps / ok).toFixed(1)} an episode`;
  const counts = endsOf(endings);
  const ends = keysOf(counts).sort((a, b) => (counts[b] ?? 0) - (counts[a] ?? 0));
  const money = spendingText(spendingOf(purse, settings));
  return [
    `episodes: ${ok} of ${chosen} ended; ${result.ended} in this session, ${result.seconds.toFixed(1)} s`,
    `steps: ${grouped(steps)}${mean}`,
    ...ends.map((end) => `  ${end} ${counts[end]}: ${ENDS[end]}`),
    ...[...result.failures].map(
      ([name, { episodes, reason }]) => `halted: ${counted(episodes, 'episode')} by ${name}: ${printable(reason)}`,
    ),
    ...PLAYERS.flatMap((player) => tokensLine(player, purse[player])),
    ...(money === undefined ? [] : [`spent: ${money}, both models and all sessions together`]),
    ...manifest.notices.map((notice) => `note: ${printable(notice)}`),
    ...(manifest.output === undefined
      ? []
      : [`written: ${shownPath(manifest.output.file, io)} (${counted(rows, 'trajectory', 'trajectories')})`]),
    lastLine(settings, result, next),
  ];
}

function lastLine(
  { fresh }: EpisodeSettings,
  { manifest, spent, exitCode, failures, rows }: EpisodesResult,
  next: string,
): string {
  const same = sameCommand(fresh);
  if (manifest.state === 'interrupted') return `interrupted: every reply is saved; ${same} continues`;
  if (spent !== undefined) return `stopped: ${spent}; every reply is saved; ${wayOn(fresh, exitCode)}`;
  if (failures.size > 0) return `next: ${same} goes on where episodes were halted`;
  return rows > 0 ? `next: ${next}` : 'no episode took a step: the journal beside the output holds what was said';
}

function tokensLine(player: string, { usage, calls }: { readonly usage: Usage; readonly calls: number }): string[] {
  if (calls === 0) return [];
  const { promptTokens = 0, cachedTokens, completionTokens = 0 } = usage;
  const cached = cachedTokens === undefined ? '' : ` (${grouped(cachedTokens)} cached)`;
  return [
    `${player}: ${counted(calls, 'call')}, ${grouped(promptTokens)} prompt tokens${cached}, ${grouped(completionTokens)} of output`,
  ];
}

function endsOf(endings: readonly Ending[]): Partial<Record<End, number>> {
  const counts: Partial<Record<End, number>> = {};
  for (const { end } of endings) counts[end] = (counts[end] ?? 0) + 1;
  return counts;
}

function stepsOf(endings: readonly Ending[]): number {
  return endings.reduce((sum, { steps }) => sum + steps, 0);
}

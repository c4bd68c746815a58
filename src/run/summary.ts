// The last words of infer and judge: counts, flags, tokens, time and what to type next.

import { printable } from '../core/printable.js';
import type { Io, Usage } from '../core/types.js';
import { programName } from '../settings/program-name.js';
import { shownPath, withShownPaths } from '../settings/shown-path.js';
import { batchDocument, batchLines, batchSteps } from './batch/closing-words.js';
import { type Spending, spendingOf, spendingText } from './budget.js';
import type { BudgetSettings } from './options.js';
import { sameCommand, wayOn } from './session.js';
import type { StageResult } from './stage.js';

/** What the two stages say differently. */
interface Words {
  readonly noun: string;
  /** What else is worth saying of the counts. */
  readonly remark?: string | undefined;
  /** Rows that were chosen and could not be asked. */
  readonly absent: string;
  /** Classes of failure that the same command does not ask again. */
  readonly final?: ReadonlySet<string> | undefined;
  /** The command to type next. */
  readonly next: string;
}

/** Prints the summary to stdout, as text or, under `--json`, as one document. */
export function printStageResult(
  io: Io,
  settings: BudgetSettings & { readonly json: boolean; readonly fresh: boolean },
  result: StageResult,
  words: Words,
): void {
  if (settings.json) io.stdout.write(`${JSON.stringify(stageDocument(result, settings))}\n`);
  else
    io.stdout.write(`${linesOf(io, settings.fresh, result, spendingOf(result.ledger, settings), words).join('\n')}\n`);
}

/** What a stage has come to, as the document of `--json`. */
export function stageDocument(result: StageResult, settings: BudgetSettings) {
  const { manifest } = result;
  return {
    schema: `awb.${manifest.kind}/1`,
    exit_code: result.exitCode,
    state: manifest.state,
    ...(result.stopReason === undefined ? {} : { stop_reason: result.stopReason }),
    ...(result.batch === undefined ? {} : { batch: batchDocument(result.batch) }),
    output: manifest.output?.file,
    ...(manifest.label === undefined ? {} : { label: manifest.label }),
    meta: manifest.meta,
    fingerprint: manifest.fingerprint,
    chosen: manifest.chosen,
    counts: manifest.counts,
    reasons: result.reasons,
    tokens: manifest.tokens,
    spent: spendingOf(result.ledger, settings),
    served_models: manifest.servedModels,
    notices: manifest.notices,
    asked: result.asked,
    seconds: result.seconds,
  };
}

function linesOf(io: Io, fresh: boolean, result: StageResult, spending: Spending, words: Words): string[] {
  const { counts, tokens, output, notices } = result.manifest;
  const lines = [
    `${words.noun}: ${counts.ok} of ${counts.chosen} done${listed(', ', [
      [counts.failed, 'failed'],
      [counts.notDone, 'not done'],
      [counts.absent, words.absent],
    ])}; ${result.asked} in this session, ${clock(result.seconds)}`,
  ];
  if (words.remark !== undefined) lines.push(words.remark);
  const failures = tally(counts.failures);
  if (failures !== '') lines.push(`failed: ${failures}`);
  for (const [name, reason] of Object.entries(result.reasons))
    lines.push(`  ${name}, for example: ${printable(reason)}`);
  const flags = tally(counts.flags);
  if (flags !== '') lines.push(`flags: ${flags}`);
  const spent = tokensText(tokens);
  if (spent !== '') lines.push(`tokens: ${spent}`);
  const money = spendingText(spending);
  if (money !== undefined) lines.push(`spent: ${money}${estimatedText(spending)}, all sessions together`);
  for (const notice of notices) lines.push(`note: ${printable(withShownPaths(notice, io))}`);
  if (output !== undefined) lines.push(`written: ${shownPath(output.file, io)}`);
  if (result.batch !== undefined) lines.push(...batchLines(result.batch, io));
  const canMend = Object.keys(counts.failures).some((failure) => !words.final?.has(failure));
  if (result.manifest.state === 'awaiting' && result.batch !== undefined) {
    return [...lines, ...batchSteps(result.batch, sameCommand(fresh), programName(io), io)];
  }
  lines.push(...nextSteps(result, canMend, fresh, words.next));
  return lines;
}

function nextSteps(result: StageResult, canMend: boolean, fresh: boolean, next: string): string[] {
  const { manifest, stopReason, exitCode } = result;
  const same = sameCommand(fresh);
  if (manifest.state === 'interrupted') return [`interrupted: everything finished is saved; ${same} continues`];
  if (manifest.state === 'stopped')
    return [`stopped: ${printable(stopReason ?? '')}; everything finished is saved; ${wayOn(fresh, exitCode)}`];
  if (canMend) return [`next: ${same} asks the failed rows again; or ${next}`];
  return [`next: ${next}`];
}

function estimatedText({ estimated, tokens, budget }: Spending): string {
  if (estimated === 0) return '';
  if (estimated === tokens) return ' (all of it estimated)';
  return ` (${estimated.toLocaleString('en')}${budget.tokens === undefined ? ' tokens' : ''} of it estimated)`;
}

function listed(before: string, counts: readonly (readonly [number, string])[]): string {
  return counts.flatMap(([count, word]) => (count > 0 ? [`${before}${count} ${word}`] : [])).join('');
}

function tally(counts: Readonly<Record<string, number>>): string {
  return Object.entries(counts)
    .sort((a, b) => b[1] - a[1])
    .map(([name, count]) => `${name} ${count}`)
    .join(', ');
}

function tokensText(tokens: Usage): string {
  const parts: [number | undefined, string][] = [
    [tokens.promptTokens, 'prompt'],
    [tokens.cachedTokens, 'of them cached'],
    [tokens.completionTokens, 'completion'],
    [tokens.reasoningTokens, 'of them reasoning'],
  ];
  return parts
    .flatMap(([count, word]) => (count === undefined ? [] : [`${count.toLocaleString('en')} ${word}`]))
    .join(', ');
}

/** 75 s -> `1 min 15 s`. */
function clock(seconds: number): string {
  if (seconds < 60) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  const hours = Math.floor(whole / 3600);
  const minutes = Math.floor((whole % 3600) / 60);
  return hours > 0 ? `${hours} h ${minutes} min` : `${minutes} min ${whole % 60} s`;
}

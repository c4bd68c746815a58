// The closing lines of infer and judge: counts, flags, tokens, time and what to type next.

import { join } from 'node:path';
import { counted, duration, grouped, printable, shellLine, shownPath, withShownPaths } from '../core/printable.js';
import type { BatchReport, Io, Usage } from '../core/types.js';
import { programName } from '../settings/command.js';
import { type Spending, spendingOf, spendingText } from './budget.js';
import type { BudgetSettings } from './options.js';
import { sameCommand, wayOn } from './session.js';
import type { StageResult } from './stage.js';

/** Words that differ between stages. */
interface Words {
  readonly noun: string;
  /** A remark about the counts. */
  readonly remark?: string | undefined;
  /** The word for rows that were chosen and could not be asked. */
  readonly absent: string;
  /** Classes of failure that the same command does not ask again. */
  readonly final?: ReadonlySet<string> | undefined;
  /** The command to type next. */
  readonly next: string;
}

/** Prints the summary to stdout, as text or, with `--json`, as one document. */
export function printStageResult(
  io: Io,
  settings: BudgetSettings & { readonly json: boolean; readonly fresh: boolean },
  result: StageResult,
  words: Words,
): void {
  const text = settings.json
    ? JSON.stringify(stageDocument(result, settings))
    : linesOf(io, settings.fresh, result, spendingOf(result.ledger, settings), words).join('\n');
  io.stdout.write(`${text}\n`);
}

/** The result of a stage, as the document of `--json`; undefined fields are left out. */
export function stageDocument({ manifest, ...result }: StageResult, settings: BudgetSettings) {
  const { kind, state, output, label, meta, fingerprint, chosen, counts, tokens, servedModels, notices } = manifest;
  const { batch } = result;
  return {
    // The plain names belong to the documents of what a calibration or scenarios measured.
    schema: `awb.${kind === 'calibrate' || kind === 'scenarios' ? `${kind}-run` : kind}/1`,
    exit_code: result.exitCode,
    state,
    stop_reason: result.stopReason,
    batch: batch && {
      dir: batch.dir,
      awaited: batch.awaited,
      written: batch.written,
      parts: batch.parts,
      notes: batch.notes,
    },
    output: output?.file,
    ...{ label, meta, fingerprint, chosen, counts },
    reasons: result.reasons,
    tokens,
    spent: spendingOf(result.ledger, settings),
    served_models: servedModels,
    notices,
    asked: result.asked,
    seconds: result.seconds,
  };
}

function linesOf(io: Io, fresh: boolean, result: StageResult, spending: Spending, words: Words): string[] {
  const { manifest, reasons, batch, asked, seconds } = result;
  const { counts, tokens, output, notices, state } = manifest;
  const apart = [
    [counts.failed, 'failed'],
    [counts.notDone, 'not done'],
    [counts.absent, words.absent],
  ] as const;
  const others = apart.flatMap(([count, word]) => (count > 0 ? [`, ${count} ${word}`] : [])).join('');
  const time = seconds < 60 ? `${seconds.toFixed(1)} s` : duration(seconds);
  const lines = [
    `${words.noun}: ${counts.ok} of ${counts.chosen} done${others}; ${asked} in this session, ${time}`,
    words.remark,
    labelled('failed', tally(counts.failures)),
    ...Object.entries(reasons).map(([name, reason]) => `  ${name}, for example: ${printable(reason)}`),
    labelled('flags', tally(counts.flags)),
    labelled('tokens', tokensText(tokens)),
    labelled('spent', spentText(spending)),
    ...notices.map((notice) => `note: ${printable(withShownPaths(notice, io))}`),
    output && `written: ${shownPath(output.file, io)}`,
    ...(batch === undefined ? [] : batchLines(batch, io)),
  ].filter((line) => line !== undefined);
  const same = sameCommand(fresh);
  if (state === 'awaiting' && batch !== undefined) return [...lines, ...batchSteps(batch, same, programName(io), io)];
  const saved = 'all finished work is saved';
  if (state === 'interrupted') return [...lines, `interrupted: ${saved}; ${same} resumes the run`];
  if (state === 'stopped') {
    const why = printable(result.stopReason ?? '');
    return [...lines, `stopped: ${why}; ${saved}; ${wayOn(fresh, result.exitCode)}`];
  }
  const canMend = Object.keys(counts.failures).some((failure) => !words.final?.has(failure));
  return [...lines, `next: ${canMend ? `${same} asks for the failed rows again; or ` : ''}${words.next}`];
}

function labelled(label: string, text: string | undefined): string | undefined {
  return text && `${label}: ${text}`;
}

function spentText(spending: Spending): string | undefined {
  const text = spendingText(spending);
  const { estimated } = spending;
  return text && `${text}${estimated === 0 ? '' : ` (${grouped(estimated)} tokens estimated)`}, all sessions together`;
}

function tally(counts: Readonly<Record<string, number>>): string | undefined {
  const sorted = Object.entries(counts).sort((a, b) => b[1] - a[1]);
  return sorted.map(([name, count]) => `${name} ${count}`).join(', ') || undefined;
}

function tokensText(tokens: Usage): string | undefined {
  const parts = [
    [tokens.promptTokens, 'prompt'],
    [tokens.cachedTokens, 'of these cached'],
    [tokens.completionTokens, 'completion'],
    [tokens.reasoningTokens, 'of these reasoning'],
  ] as const;
  const known = parts.flatMap(([count, word]) => (count === undefined ? [] : [`${grouped(count)} ${word}`]));
  return known.join(', ') || undefined;
}

// What a run says about its batch files at the end: what has arrived, what is left, and who can answer it.

/** How far the files are (`awb batch status` lists each), and what is odd about the results. */
function batchLines({ dir, parts, awaited, written, notes }: BatchReport, io: Io): string[] {
  if (parts.length === 0) return [];
  const requests = parts.reduce((sum, part) => sum + part.requests, 0);
  const fresh = written === 0 ? '' : `, ${grouped(written)} of these written now`;
  return [
    `batch: ${grouped(awaited)} of ${counted(requests, 'result', 'results', grouped)} awaited in ${shownPath(dir, io)}${fresh}`,
    ...notes.map((note) => `  ${printable(note)}`),
  ];
}

/** Ways to get answers for what is awaited. `same` is the command that reads them. */
function batchSteps({ dir, model, parts }: BatchReport, same: string, program: string, io: Io): string[] {
  const shown = shownPath(dir, io);
  const file = parts.find((part) => part.awaited > 0)?.file ?? '';
  const results = file.replace('requests', 'outputs');
  return [
    'next: have the requests answered with one of',
    `  ${program} ${shellLine(['batch', 'submit', shown])}`,
    `  ${program} ${shellLine(['batch', 'run', shown, '--local', 'MODEL'])}`,
    `  ${shellLine(['vllm', 'run-batch', '-i', join(shown, file), '-o', join(shown, results), '--model', model])}`,
    `or put result files (*.jsonl) into ${shown}; then ${same} reads them`,
  ];
}

// The program: finds the subcommand, reads its settings, runs it, and turns errors into messages and exit codes.

import { inspect } from 'node:util';
import { EXIT, type ExitCode, messageOf, UserError } from './core/errors.js';
import { oneLine, printable, withShownPaths } from './core/printable.js';
import type { Io, TextSink } from './core/types.js';
import type { CommandEntry, CommandSpec, RunAwb } from './settings/command.js';
import { readCommandLine } from './settings/command-line.js';
import { describeSettings } from './settings/secrets.js';
import { requireSettings, resolveSettings } from './settings/settings.js';
import { againstColor } from './settings/sources.js';

type ErrorLook = { color: boolean };

/** One command from a module with several. */
function one<Name extends string>(load: () => Promise<Readonly<Record<Name, CommandSpec>>>, name: Name) {
  return async () => ({ command: (await load())[name] });
}

const batchCommands = () => import('./cli/batch-api.js');
const exportCommands = () => import('./cli/export.js');
const pages = () => import('./cli/pages.js');
const dataCommands = () => import('./cli/data.js');
const runsCommands = () => import('./cli/runs.js');

/** The subcommands, in the order and the groups of the help. */
// biome-ignore format: a table with one line per command
export const COMMANDS: readonly CommandEntry[] = [
  { group: 'Start', name: 'quickstart', load: () => import('./cli/quickstart.js'), summary: 'run everything on recorded rows: no key, no network, no GPU' },
  { group: 'Start', name: 'init', load: () => import('./cli/init.js'), summary: 'write a commented configuration and gate policy' },
  { group: 'Start', name: 'data fetch', load: one(dataCommands, 'fetch'), summary: 'download the benchmark from the Hugging Face Hub, resumable', of: "the benchmark's rows" },
  { group: 'Start', name: 'data check', load: one(dataCommands, 'check'), summary: 'compare a copy of the benchmark with its release' },
  { group: 'Start', name: 'data stats', load: one(dataCommands, 'stats'), summary: 'count rows, turns and tokens by domain' },
  { group: 'Evaluate', name: 'infer', load: () => import('./cli/infer.js'), summary: 'ask a world model for the next observation of every row' },
  { group: 'Evaluate', name: 'judge', load: () => import('./cli/judge.js'), summary: 'rate predictions against the ground truth' },
  { group: 'Evaluate', name: 'score', load: () => import('./cli/score.js'), summary: 'turn judgements into scores: a table and a SQLite file' },
  { group: 'Evaluate', name: 'status', load: () => import('./cli/status.js'), summary: 'show the progress of runs' },
  { group: 'Evaluate', name: 'view', load: () => import('./cli/view.js'), summary: 'browse runs, samples and comparisons' },
  { group: 'Evaluate', name: 'samples', load: () => import('./cli/samples.js'), summary: "print a run's samples, worst first" },
  { group: 'Evaluate', name: 'report', load: one(pages, 'report'), summary: 'write one HTML file about a run, with every sample' },
  { group: 'Evaluate', name: 'likelihood', load: () => import('./cli/likelihood.js'), summary: "measure the truth's likelihood in bits per byte, no judge" },
  { group: 'Decide', name: 'compare', load: () => import('./cli/compare.js'), summary: 'show how two runs differ, row by row, and how certain that is' },
  { group: 'Decide', name: 'gate', load: () => import('./cli/gate.js'), summary: 'decide on a checkpoint: GO, NO-GO or not enough evidence' },
  { group: 'Decide', name: 'leaderboard', load: () => import('./cli/leaderboard.js'), summary: 'compare many runs: text, Markdown, CSV, LaTeX or HTML' },
  { group: 'Decide', name: 'watch', load: () => import('./cli/watch.js'), summary: 'evaluate each checkpoint as it arrives, from serving to gate' },
  { group: 'Trust the judge', name: 'calibrate', load: () => import('./cli/calibrate.js'), summary: 'measure what a judge notices, its noise and what fools it' },
  { group: 'Trust the judge', name: 'rate', load: one(pages, 'rate'), summary: 'create a page on which people rate predictions' },
  { group: 'Trust the judge', name: 'agree', load: () => import('./cli/agree.js'), summary: "compare a judge's ratings with people's" },
  { group: 'Trust the judge', name: 'panel', load: () => import('./cli/panel.js'), summary: 'combine the judgements of several judges' },
  { group: 'Simulate', name: 'simulate', load: () => import('./cli/simulate.js'), summary: 'act in a world that a world model simulates' },
  { group: 'Scale', name: 'serve', load: () => import('./cli/serve.js'), summary: 'serve a GGUF model on this machine, OpenAI-compatible' },
  { group: 'Scale', name: 'batch submit', load: one(batchCommands, 'submit'), summary: "submit a --batch-dir folder to OpenAI's Batch API, or a similar one", of: 'half-price requests' },
  { group: 'Scale', name: 'batch status', load: one(batchCommands, 'status'), summary: 'show the progress of the batches of a folder' },
  { group: 'Scale', name: 'batch fetch', load: one(batchCommands, 'fetch'), summary: 'fetch the results of finished batches' },
  { group: 'Scale', name: 'batch cancel', load: one(batchCommands, 'cancel'), summary: 'cancel the unfinished batches of a folder' },
  { group: 'Scale', name: 'batch run', load: () => import('./cli/batch-run.js'), summary: 'answer a --batch-dir folder with live calls, without a batch engine' },
  { group: 'Scale', name: 'merge', load: () => import('./cli/merge.js'), summary: 'merge the folders of shards into one run' },
  { group: 'Keep', name: 'runs list', load: one(runsCommands, 'list'), summary: 'list the runs in a SQLite file', of: 'the runs in a SQLite file' },
  { group: 'Keep', name: 'runs show', load: one(runsCommands, 'show'), summary: 'show a stored run: its settings, scores and judged file' },
  { group: 'Keep', name: 'runs rename', load: one(runsCommands, 'rename'), summary: 'give a stored run another label' },
  { group: 'Keep', name: 'runs remove', load: one(runsCommands, 'remove'), summary: 'remove runs from a SQLite file' },
  { group: 'Keep', name: 'export csv', load: one(exportCommands, 'csv'), summary: "write a run's judgements, or its scores, as CSV", of: 'scores and judgements for other tools' },
  { group: 'Keep', name: 'export mlflow', load: one(exportCommands, 'mlflow'), summary: 'log a run with its settings and scores to an MLflow server' },
  { group: 'Shell', name: 'completion', load: async () => ({ command: (await import('./cli/completion.js')).completionOf(COMMANDS) }), summary: 'print a completion script for bash, zsh or fish' },
];

/**
 * Runs the program in this process. It never throws: an error becomes a message on `io.stderr` and an exit code. Secrets are removed
 * from everything written.
 * @param argv the arguments after the program's name
 */
export async function main(
  argv: readonly string[],
  processIo: Io,
  commands: readonly CommandEntry[] = COMMANDS,
): Promise<ExitCode> {
  const secrets = new Set<string>();
  const { stdout, stderr, env } = processIo;
  const clean = (text: string) => [...secrets].reduce((shown, secret) => shown.replaceAll(secret, '[secret]'), text);
  // Errors mostly name absolute paths; stderr shows them shortened. Stdout may be a document for programs, and keeps them.
  const place = { cwd: processIo.cwd, isBeside: argv.some((word) => /(?:^|[=,])\.\.[\\/]/.test(word)) };
  const told = (text: string) => withShownPaths(clean(text), place);
  const io: Io = { ...processIo, ...place, stdout: guarded(stdout, clean, env), stderr: guarded(stderr, told, env) };
  // How errors look. The settings overwrite this once they are read.
  const look: ErrorLook = { color: againstColor(io.env) === undefined && !argv.includes('--no-color') };
  try {
    return await runProgram(argv[0] === 'help' ? [...argv.slice(1), '--help'] : argv, io, commands, secrets, look);
  } catch (error) {
    return report(error, io, look, argv.includes('--verbose') || Boolean(io.env.AWB_DEBUG));
  }
}

/** Wraps a sink (its size stays live) to clean what is written. In GitHub Actions it also defuses commands to the runner. */
function guarded(sink: TextSink, clean: (text: string) => string, { GITHUB_ACTIONS: runner }: Io['env']): TextSink {
  if (!runner) return Object.create(sink, { write: { value: (text: string) => sink.write(clean(text)) } });
  const harmless = openCommandFilter();
  return Object.create(sink, {
    write: { value: (text: string) => sink.write(harmless(clean(text))) },
    writeCommands: { value: (text: string) => sink.write(clean(text)) },
  });
}

function report(error: unknown, { stderr }: Io, look: ErrorLook, verbose: boolean): ExitCode {
  const red = (word: string) => (look.color && stderr.isTTY ? `\x1b[1;31m${word}\x1b[0m` : word);
  const say = (word: string, text: string) => stderr.write(`${red(word)} ${printable(text, { multiline: true })}\n`);
  if (error instanceof UserError) {
    say('awb:', error.message);
    return error.exitCode;
  }
  const more = verbose
    ? inspect(error)
    : 'This is a bug in awb, not in your data. Please report it with the output of the same command under AWB_DEBUG=1.';
  say('awb: unexpected error:', `${messageOf(error)}\n${more}`);
  return EXIT.unexpected;
}

async function runProgram(
  argv: readonly string[],
  io: Io,
  commands: readonly CommandEntry[],
  secrets: Set<string>,
  look: ErrorLook,
): Promise<ExitCode> {
  const line = await readCommandLine(argv, commands, io);
  if ('exitCode' in line) return line.exitCode;
  const resolved = await resolveSettings(line, io, commands, secrets);
  const { settings, shown, warnings } = resolved;
  look.color = settings.color;
  requireSettings(line, resolved);
  if (!settings.quiet) for (const warning of warnings) io.stderr.write(`awb: warning: ${oneLine(warning, 200)}\n`);
  if (settings.printConfig) {
    io.stdout.write(describeSettings(line, resolved.found, settings.json));
    return EXIT.done;
  }
  const awb: RunAwb = (argv, itsIo) => main(argv, itsIo, commands);
  return line.command.run(settings, io, shown, awb);
}

// Text without commands to the runner of GitHub Actions, even if a model, a server or a label wrote one.

/**
 * Defuses commands in writes that may be cut anywhere. The runner sees a command in a line that starts with `::`, with or without white
 * space before it, and in the older form wherever `##[` occurs (actions/runner, ActionCommand.cs). A JSON document keeps its meaning.
 */
export function openCommandFilter(): (text: string) => string {
  // State of the current line: empty, a colon, or `x` for anything else plus the number signs at its end.
  let line = '';
  return (text) => {
    // In JSON, number signs occur only in strings, where the bracket after them can be escaped.
    const isJson = line === '' && /^\{.*\}\s*$/s.test(text);
    const escaped = isJson ? text.replace(/##\[/g, '##\\u005b') : text;
    const safe = withoutCommands(line + escaped).slice(line.length);
    line = remainder(line + safe);
    return safe;
  };
}

/** Inserts a space inside each command, after the part that may already be written. */
function withoutCommands(text: string): string {
  return text.replace(/^([\s\x85]*:)(?=:)/gm, '$1 ').replace(/##(?=\[)/g, '## ');
}

function remainder(text: string): string {
  const line = text.slice(1 + Math.max(...['\n', '\r', '\u2028', '\u2029'].map((end) => text.lastIndexOf(end))));
  const start = line.trim();
  if (start === '' || start === ':') return start;
  return `x${/#{0,2}$/.exec(line)?.[0] ?? ''}`;
}

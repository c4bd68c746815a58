// The options of awb watch: where checkpoints arrive, how one is served, what it is held against, and where results go.

import { type OptionTable, option, type Settings, under } from '../../settings/command.js';

export const WATCH_OPTIONS = {
  ...under('Checkpoints', {
    dir: option.text('DIR', 'folder in which checkpoints arrive, each a folder or a file of it', { required: true }),
    pattern: option.text('GLOB', 'names of checkpoints, with * and ?, such as "step-*"', { default: '*' }),
    marker: option.text('NAME', 'file in a checkpoint, or beside it as <checkpoint>.NAME, once it is complete', {
      default: 'COMPLETE',
      check: (text) => (/^[^/\\]+$/.test(text) ? undefined : 'the name of a file'),
    }),
  }),
  ...under('Server', {
    'serve-command': option.list('COMMAND', 'what serves {checkpoint} at {port}: words, run without a shell', {
      required: true,
      whole: true,
    }),
    endpoint: option.text('URL', 'where the server is asked', { default: 'http://127.0.0.1:{port}/v1' }),
    port: option.integer('its port; a free one where none is given', { min: 1, max: 65535 }),
    'served-model': option.text('NAME', 'model to ask for; the first that the server lists where none is given'),
    'wait-ready': option.duration('longest wait until the server lists its models', { min: 0.001, default: 900 }),
  }),
  ...under('Judge', {
    'judge-batch': option.flag("ask the judge by batch files in the checkpoint's folder (--once: exit 75 meanwhile)"),
  }),
  ...under('Gate', {
    base: option.text('RUN', 'the fixed run: a label or number in --db, or a path', { namesRun: true, required: true }),
  }),
  ...under('Output', {
    'output-dir': option.text('DIR', 'folder of watch.jsonl and of a folder a checkpoint', { default: './watch' }),
    db: option.text('FILE', 'SQLite file that scores go to', { default: 'awb.sqlite' }),
    'on-result': option.list('COMMAND', 'gets each result as JSON on its standard input', { whole: true }),
  }),
  ...under('Watching', {
    'pass-env': option.list('NAME', 'further variables, secrets too, that the server and --on-result get'),
    once: option.flag('take what is there, and end with its exit code'),
    every: option.duration('time between two looks at DIR', { min: 0.01, default: 60 }),
    tries: option.integer('rounds in which a checkpoint that cannot be evaluated is tried', { min: 1, default: 3 }),
    'retry-wait': option.duration('wait before its second round, then doubled each time', { min: 0, default: 300 }),
    'dry-run': option.flag('say what would be done, and do nothing'),
  }),
} as const satisfies OptionTable;

/** As they were given, with the path of the configuration file that the steps read, too. */
export type WatchSettings = Settings<typeof WATCH_OPTIONS> & { readonly config: string };

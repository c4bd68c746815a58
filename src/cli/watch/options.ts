// The options of awb watch: where checkpoints arrive, how one is served, what it is held against, and where results go.

import type { OptionTable, Settings } from '../../settings/command.js';

export const WATCH_OPTIONS = {
  dir: {
    kind: 'text',
    value: 'DIR',
    required: true,
    group: 'Checkpoints',
    help: 'folder in which checkpoints arrive, each a folder or a file of it',
  },
  pattern: {
    kind: 'text',
    value: 'GLOB',
    default: '*',
    group: 'Checkpoints',
    help: 'names of checkpoints, with * and ?, such as "step-*"',
  },
  marker: {
    kind: 'text',
    value: 'NAME',
    default: 'COMPLETE',
    check: (text) => (/^[^/\\]+$/.test(text) ? undefined : 'the name of a file'),
    group: 'Checkpoints',
    help: 'file that says a checkpoint is complete: in its folder, or beside it as <checkpoint>.NAME',
  },
  'serve-command': {
    kind: 'list',
    value: 'COMMAND',
    required: true,
    whole: true,
    group: 'Server',
    help: 'what serves {checkpoint} at {port}: words, run without a shell',
  },
  endpoint: {
    kind: 'text',
    value: 'URL',
    default: 'http://127.0.0.1:{port}/v1',
    group: 'Server',
    help: 'where the server is asked',
  },
  port: { kind: 'integer', min: 1, max: 65535, group: 'Server', help: 'its port; a free one where none is given' },
  'served-model': {
    kind: 'text',
    value: 'NAME',
    group: 'Server',
    help: 'model to ask for; the first that the server lists where none is given',
  },
  'wait-ready': {
    kind: 'duration',
    min: 0.001,
    default: 900,
    group: 'Server',
    help: 'longest wait until the server lists its models',
  },
  'judge-batch': {
    kind: 'boolean',
    group: 'Judge',
    help: "ask the judge by batch files in the checkpoint's folder; it is looked at again as results come (exit 75 of --once)",
  },
  base: {
    kind: 'text',
    namesRun: true,
    value: 'RUN',
    required: true,
    group: 'Gate',
    help: 'the fixed run that no checkpoint may fall behind: a label or number in --db, a judged file or its folder',
  },
  'output-dir': {
    kind: 'text',
    value: 'DIR',
    default: './watch',
    group: 'Output',
    help: 'folder of watch.jsonl, with a folder for each checkpoint',
  },
  db: { kind: 'text', value: 'FILE', default: 'awb.sqlite', group: 'Output', help: 'SQLite file that scores go to' },
  'on-result': {
    kind: 'list',
    value: 'COMMAND',
    whole: true,
    group: 'Output',
    help: 'command that is given each result as JSON on its standard input: words, run without a shell',
  },
  'pass-env': {
    kind: 'list',
    value: 'NAME',
    group: 'Watching',
    help: 'environment variables that the server and --on-result get besides the usual ones, secrets among them',
  },
  once: { kind: 'boolean', group: 'Watching', help: 'take what is there, and end with its exit code' },
  every: { kind: 'duration', min: 0.01, default: 60, group: 'Watching', help: 'time between two looks at DIR' },
  tries: {
    kind: 'integer',
    min: 1,
    default: 3,
    group: 'Watching',
    help: 'rounds in which a checkpoint that cannot be evaluated is tried, before it is left until it changes',
  },
  'retry-wait': {
    kind: 'duration',
    min: 0,
    default: 300,
    group: 'Watching',
    help: 'wait before its second round; each further one doubles it',
  },
  'dry-run': { kind: 'boolean', group: 'Watching', help: 'say what would be done, and do nothing' },
} as const satisfies OptionTable;

/** As they were given, with the path of the configuration file that the steps read, too. */
export type WatchSettings = Settings<typeof WATCH_OPTIONS> & { readonly config: string };

/** Looks whether the base is the run that it was at the first start, and gives the name by which a gate finds that one. */
export type FixedBase = () => Promise<string>;

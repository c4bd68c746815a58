// `awb data fetch`: the benchmark's rows from the Hugging Face Hub into a folder, one commit of them, every file checked.

import { join, resolve } from 'node:path';
import { downloadText, progressText, sizeText } from '../benchmark/hub/client.js';
import { type FetchedDataset, type FileState, fetchDataset } from '../benchmark/hub/dataset.js';
import { RELEASED } from '../core/domains.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { printable, shellLine } from '../core/printable.js';
import { terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand, type OptionTable, option, programName, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';

// biome-ignore format: a table, a line an option
const OPTIONS = {
  'output-dir': option.text('DIR', 'folder for the files', { default: 'data' }),
  revision: option.text('REV', 'commit, branch or tag; main is the newest', { default: RELEASED.commit, check: (text) => (/^[\w./-]+$/.test(text) && !text.includes('..') ? undefined : 'a commit, branch or tag, such as main') }),
  replace: option.flag('take the place of files that are there, differ and were not fetched; they are kept aside'),
} as const satisfies OptionTable;

type FetchSettings = Settings<typeof OPTIONS>;

/** How a file's state is said. */
const STATES: Readonly<Record<FileState, string>> = {
  fetched: 'fetched',
  unchanged: 'was there',
  updated: 'fetched, in place of another commit',
  repaired: 'fetched again: it had changed',
  replaced: 'fetched, in place of another',
  removed: 'kept aside: not of this commit',
  left: 'left as it is',
};

export const command = defineCommand({
  description:
    'Fetches AgentWorldBench (402 MB) from the Hugging Face Hub and checks every file. The same command continues a download that was cut off, and checks what is there. HF_ENDPOINT names a mirror, HF_TOKEN is sent to the hub.',
  examples: {
    'awb data fetch': 'into the folder data, where awb infer looks for it',
    'HF_ENDPOINT=https://hf-mirror.com awb data fetch': 'from a mirror',
    'awb data fetch --revision main --output-dir data-new': 'the newest rows, into another folder',
  },
  options: OPTIONS,
  run: fetch,
});

async function fetch(settings: FetchSettings, io: Io): Promise<ExitCode> {
  const folder = resolve(io.cwd, settings.outputDir);
  const shown = shownPath(folder, io);
  const { repository } = RELEASED;
  const loading = showLoading(io.stderr, settings.quiet);
  const fetched = await fetchDataset({
    repository,
    revision: settings.revision,
    folder,
    replace: settings.replace,
    env: io.env,
    signal: io.stop,
    beforeDownload: ({ files, bytes, aside }) => {
      if (aside !== undefined) loading.say(`kept aside in ${shownPath(join(folder, aside), io)}: what gives way`);
      loading.say(downloadText({ name: `${counted(files, 'file')} of ${repository}`, bytes }, shown));
    },
    onProgress: (progress) => loading.step('fetch', progressText(progress)),
    now: () => new Date(),
  }).finally(() => loading.finish());
  io.stdout.write(settings.json ? documentOf(fetched, folder) : textOf(fetched, folder, settings, io));
  return EXIT.done;
}

function documentOf({ source, files, fetchedBytes, aside, strangers }: FetchedDataset, folder: string): string {
  const document = {
    schema: 'awb.data-fetch/1',
    folder,
    ...source,
    files: files.map(({ file: { name, bytes }, state, sha256 = null }) => ({ name, bytes, sha256, state })),
    fetched_bytes: fetchedBytes,
    aside: aside ?? null,
    strangers,
  };
  return `${JSON.stringify(document, null, 2)}\n`;
}

function textOf(fetched: FetchedDataset, folder: string, { color, outputDir }: FetchSettings, io: Io): string {
  const { source, files, fetchedBytes, aside, strangers } = fetched;
  const table = {
    columns: [
      { heading: 'File', short: 'File', align: 'left' },
      { heading: 'Size', short: 'Size', align: 'right' },
      { heading: '', short: '', align: 'left' },
    ],
    groups: [files.map(({ file, state }) => [printable(file.name), sizeText(file.bytes), STATES[state]])],
    footnotes: [],
  } as const;
  const awb = programName(io);
  const lines = [
    `${shownPath(folder, io)}: ${printable(source.repository)} at commit ${source.commit}`,
    fetchedBytes > 0
      ? `${sizeText(fetchedBytes)} fetched; every file is checked`
      : 'every file is there and checked; nothing was fetched',
    ...(aside === undefined ? [] : [`what gave way is kept in ${shownPath(join(folder, aside), io)}`]),
    ...strangers.map((name) => `not of the benchmark, but read with it: ${printable(name)}`),
    `next: ${awb} ${shellLine(['data', 'check', ...(outputDir === 'data' ? [] : [outputDir])])}`,
  ];
  return `${terminal(table, { columns: io.stdout.columns, color: color && io.stdout.isTTY })}\n${lines.join('\n')}\n`;
}

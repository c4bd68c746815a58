// awb panel: several judgings of the same predictions joined into one judged file, every judge counting alike.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { shellLine } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { joinMembers, readMembers, writePanel } from '../judge/panel.js';
import { panelText } from '../report/agreement.js';
import {
  defineCommand,
  type OptionTable,
  option,
  programName,
  type Settings,
  type ShownSettings,
} from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import { COMBINATIONS } from '../stats/agreement/panel.js';

const OPTIONS = {
  judged: option.list(
    'RUN',
    'judged files of awb judge, or their folders: the same predictions under the same rubrics, each by another judge',
    { required: true },
  ),
  output: option.text('FILE', 'the judged file to write', { short: 'o', required: true }),
  combine: option.choice(keysOf(COMBINATIONS), "how the judges' ratings of a dimension become one", {
    default: 'mean',
  }),
  quorum: option.integer(
    "a row needs N judges, not all of them; each judge's offset by domain and dimension is then taken out",
    { min: 1 },
  ),
  fresh: option.flag('write over another file; the old one is kept aside'),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Joins judgings of the same predictions into one judged file, which score, compare, gate, leaderboard and report read like any other. Every judge counts alike. It says how far the judges agree.',
  examples: {
    'awb panel out/judged.jsonl out/judged.qwen.jsonl --output out/panel.jsonl': 'the mean of two judges',
    'awb panel a.jsonl b.jsonl c.jsonl --combine median --output panel.jsonl': 'the middle of three',
    'awb panel a.jsonl b.jsonl c.jsonl --quorum 2 --output panel.jsonl': 'rows that one judge failed on, too',
  },
  options: OPTIONS,
  operands: ['judged'],
  run: panel,
});

async function panel(settings: Settings<typeof OPTIONS>, io: Io, shown: ShownSettings): Promise<ExitCode> {
  const { combine, quorum, fresh } = settings;
  const members = await readMembers(settings.judged, io);
  if (quorum !== undefined && quorum > members.length) {
    throw new UserError(
      `--quorum ${quorum} is more than the ${members.length} judges of this panel; give at most as many`,
    );
  }
  const path = resolve(io.cwd, settings.output);
  const joined = joinMembers(members, { combine, quorum });
  const isWhole = await writePanel(path, members, joined, { io, fresh, settings: shown });
  const exitCode = isWhole ? EXIT.done : EXIT.incomplete;
  if (settings.json) {
    const document = { schema: 'awb.panel/1', exit_code: exitCode, output: path, ...joined.panel };
    io.stdout.write(`${JSON.stringify(document)}\n`);
    return exitCode;
  }
  const next = shellLine(['score', '--predictions', shownPath(path, io)]);
  io.stdout.write(panelText(joined.panel, { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY }));
  io.stdout.write(`\nwritten: ${shownPath(path, io)}\nnext: ${programName(io)} ${next}\n`);
  return exitCode;
}

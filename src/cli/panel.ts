// awb panel: joins several judgings of the same predictions into one judged file, with equal weight for every judge.

import { resolve } from 'node:path';
import { EXIT, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { shellLine, shownPath } from '../core/printable.js';
import { lookOf } from '../core/terminal.js';
import { joinMembers, readMembers, writePanel } from '../judge/panel.js';
import { agreementOfPanel, agreementText } from '../report/agreement.js';
import { print } from '../results/output.js';
import { defineCommand, option, programName } from '../settings/command.js';
import { COMBINATIONS } from '../stats/agreement/panel.js';

export const command = defineCommand({
  description:
    'Joins judgings of the same predictions into one judged file, which score, compare, gate, leaderboard and report read like any other. Every judge has equal weight. It also reports how far the judges agree.',
  examples: {
    'awb panel out/judged.jsonl out/judged.qwen.jsonl --output out/panel.jsonl': 'the mean of two judges',
    'awb panel a.jsonl b.jsonl c.jsonl --combine median --output panel.jsonl': 'the median of three',
    'awb panel a.jsonl b.jsonl c.jsonl --quorum 2 --output panel.jsonl': 'also rows that one judge failed on',
  },
  options: {
    judged: option.list('RUN', 'judged files (or folders) of the same predictions and rubrics', { required: true }),
    output: option.text('FILE', 'the judged file to write', { short: 'o', required: true }),
    combine: option.choice(keysOf(COMBINATIONS), "how the judges' ratings become one", { default: 'mean' }),
    quorum: option.integer("judges that a row needs (default: all); also removes each judge's offset", { min: 1 }),
    fresh: option.flag('replace an existing file; the old one is moved aside'),
  },
  operands: ['judged'],
  async run(settings, io, shown) {
    const { combine, quorum, fresh } = settings;
    const members = await readMembers(settings.judged, io);
    if (quorum !== undefined && quorum > members.length) {
      throw new UserError(`--quorum ${quorum} is more than the ${members.length} judges of this panel; lower it`);
    }
    const path = resolve(io.cwd, settings.output);
    const joined = joinMembers(members, { combine, quorum });
    const isWhole = await writePanel(path, members, joined, { io, fresh, settings: shown });
    const exitCode = isWhole ? EXIT.done : EXIT.incomplete;
    const document = { schema: 'awb.panel/1', exit_code: exitCode, output: path, ...joined.panel };
    const next = `${programName(io)} ${shellLine(['score', '--predictions', shownPath(path, io)])}`;
    const ending = `written: ${shownPath(path, io)}\nnext: ${next}\n`;
    print(
      document,
      () => `${agreementText(agreementOfPanel(joined.panel), lookOf(settings, io))}\n${ending}`,
      settings,
      io,
    );
    return exitCode;
  },
});

// `awb data stats`: how large the benchmark's rows are, by domain.

import { resolve } from 'node:path';
import { statsOf } from '../benchmark/survey.js';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { hasBlocks } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { SURVEY_OPTIONS, surveyData } from '../infer/chosen-rows.js';
import { statsText } from '../report/data-stats.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand } from '../settings/command.js';
import type { Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';

export const command = defineCommand({
  description:
    'Shows how many rows, trajectories and turns a copy of the benchmark has by domain, and how large prompts and ground truths are: median, 90th percentile, longest, and a histogram.',
  examples: [
    { line: 'awb data stats', does: 'of what lies in the folder data' },
    { line: 'awb data stats my-rows --json | jq .all.context_tokens.max', does: 'the longest prompt' },
  ],
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  run: stats,
});

async function stats(settings: Settings<typeof SURVEY_OPTIONS>, io: Io): Promise<ExitCode> {
  const folder = resolve(io.cwd, settings.dataDir);
  const loading = showLoading(io.stderr, settings.quiet);
  const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('stats', text)).finally(() =>
    loading.finish(),
  );
  const { rows, unusable } = survey;
  const next = `awb data check lists ${unusable.length === 1 ? 'it' : 'them'}`;
  if (rows.length === 0) {
    throw new UserError(`no usable row in ${shownPath(folder, io)}; ${next}`, EXIT.badData);
  }
  if (unusable.length > 0 && !settings.quiet) {
    io.stderr.write(
      `${counted(unusable.length, 'line')} cannot be used and ${unusable.length === 1 ? 'is' : 'are'} left out; ${next}\n`,
    );
  }
  const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
  const stats = statsOf(survey);
  io.stdout.write(
    settings.json
      ? `${JSON.stringify({ schema: 'awb.data-stats/1', folder, tokens, ...stats }, null, 2)}\n`
      : statsText({ stats, tokens, folder: shownPath(folder, io) }, look, hasBlocks(io.env)),
  );
  return EXIT.done;
}

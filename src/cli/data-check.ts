// `awb data check`: a copy of the benchmark beside its release, and beside what was fetched.

import { resolve } from 'node:path';
import { checkSource } from '../benchmark/hub/dataset.js';
import { sizeText } from '../benchmark/hub/download-text.js';
import { checkRows } from '../benchmark/survey.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { RELEASED } from '../core/released.js';
import type { Io } from '../core/types.js';
import { SURVEY_OPTIONS, surveyData } from '../infer/chosen-rows.js';
import { checkDocument, checkText, statusOf } from '../report/data-check.js';
import { showLoading } from '../serve/loading.js';
import { defineCommand } from '../settings/command.js';
import type { Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';

const EXIT_CODES = { 'as-released': EXIT.done, differs: EXIT.incomplete, unusable: EXIT.badData } as const;

export const command = defineCommand({
  description:
    'Checks a copy of the benchmark: rows by domain beside the release, unusable lines, duplicates, contexts that are too long, and files that changed since they were fetched. Exit code 0: as released; 3: it differs; 65: lines cannot be used.',
  examples: [
    { line: 'awb data check', does: 'what lies in the folder data' },
    { line: 'awb data check my-rows --json | jq .differences', does: 'what differs from the release' },
  ],
  options: SURVEY_OPTIONS,
  operands: ['data-dir'],
  run: check,
});

async function check(settings: Settings<typeof SURVEY_OPTIONS>, io: Io): Promise<ExitCode> {
  const folder = resolve(io.cwd, settings.dataDir);
  const loading = showLoading(io.stderr, settings.quiet);
  try {
    const { survey, tokens } = await surveyData(settings, io, (text) => loading.step('check', text));
    let bytes = 0;
    const source = await checkSource(folder, io.stop, (read) => {
      bytes += read;
      loading.step('check', `comparing with what was fetched: ${sizeText(bytes)}`);
    });
    loading.finish();
    const checked = { check: checkRows(survey, RELEASED), source, tokens };
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
    io.stdout.write(
      settings.json
        ? `${JSON.stringify(checkDocument(checked, folder), null, 2)}\n`
        : checkText(checked, shownPath(folder, io), look),
    );
    return EXIT_CODES[statusOf(checked)];
  } finally {
    loading.finish();
  }
}

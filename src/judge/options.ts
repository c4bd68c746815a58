// The options of awb judge: the predictions, the mode, and the judge to ask.

import { keysOf } from '../core/groups.js';
import { MOST_JUDGEMENTS } from '../core/judgement.js';
import { BATCH_OPTIONS } from '../run/batch/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, type Settings, under } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { type Mode, SIGHTS, VERDICT_READINGS } from './mode.js';
import { MODES } from './modes.js';

/** Which judge is asked, and how it is told to judge. */
export const JUDGE_INSTRUMENT = {
  ...under('Judge', {
    'judge-base-url': {
      kind: 'list',
      value: 'URL',
      check: httpUrl,
      help: 'OpenAI-compatible endpoint; several share the rows',
    },
    'judge-model': { kind: 'text', value: 'NAME', help: 'model to ask for' },
    'judge-api-key': {
      kind: 'text',
      value: 'KEY',
      secret: true,
      help: 'key, sent as bearer token; at api.openai.com OPENAI_API_KEY without it',
    },
    rubrics: {
      kind: 'text',
      value: 'PACK',
      help: "awb-3 (bundled), official (the paper's, fetched at cd0aa83), folder of a pack, or checkout of the official repository",
    },
    verdicts: {
      kind: 'choice',
      choices: VERDICT_READINGS,
      help: 'strict: five ratings of 1 to 5 under the mark of the case; official: as the official script asks and reads (default: as the rubrics are)',
    },
    'verdict-schema': {
      kind: 'boolean',
      help: 'hold verdicts to a JSON schema, in which checklist and reasons come before the scores',
    },
    'max-retries': { kind: 'integer', min: 1, default: 3, help: 'tries in all for a readable verdict' },
  }),
} as const satisfies OptionTable;

export const JUDGE_OPTIONS = {
  ...under('Data', {
    predictions: {
      kind: 'text',
      value: 'FILE',
      required: true,
      help: 'predictions.jsonl of awb infer or of the official script, or its folder',
    },
    reference: {
      kind: 'text',
      value: 'FILE',
      help: 'predictions to compare with under --mode reference, of another world model over the same rows',
    },
    'output-dir': { kind: 'text', value: 'DIR', help: 'folder of judged.jsonl (default: that of the predictions)' },
    'data-dir': { kind: 'text', value: 'DIR', help: 'folder of *_test.jsonl files, for lean predictions' },
    label: { kind: 'text', value: 'NAME', check: shortLabel, help: 'names a second judging: judged.NAME.jsonl' },
    fresh: { kind: 'boolean', help: 'start over; the old files are kept aside' },
  }),
  mode: { kind: 'choice', choices: keysOf(MODES), default: 'rubric', group: 'Judge', help: helpOf(MODES) },
  ...JUDGE_INSTRUMENT,
  ...under('Judge', {
    'judge-sees': {
      kind: 'choice',
      choices: SIGHTS,
      default: 'history',
      help: 'of a rollout: history shows recorded turns and the truth; rollout the simulated turns and no truth: does it agree with itself?',
    },
    'domain-prompts': {
      kind: 'text',
      value: 'DIR',
      help: 'for --mode decision, a folder whose agent/<domain>.txt say how an agent acts, beside the bundled ones or instead',
    },
    'judge-repeats': {
      kind: 'integer',
      min: 1,
      max: MOST_JUDGEMENTS,
      default: 1,
      help: 'judge every prediction N times',
    },
    recheck: { kind: 'integer', min: 2, help: "judge N stored rows again with today's judge and report the shift" },
  }),
  ...ASKING_OPTIONS,
  ...BATCH_OPTIONS,
} as const satisfies OptionTable;

export type JudgeSettings = Settings<typeof JUDGE_OPTIONS>;

function helpOf(modes: Readonly<Record<string, Pick<Mode, 'help'>>>): string {
  return Object.entries(modes)
    .map(([name, { help }]) => `${name}: ${help}`)
    .join('; ');
}

// The options of awb judge: the predictions, the mode, and the judge to ask.

import { keysOf } from '../core/groups.js';
import { MOST_JUDGEMENTS } from '../core/judgement.js';
import { BATCH_OPTIONS } from '../run/batch/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, option, type Settings, under } from '../settings/command.js';
import { shortLabel } from '../settings/sources.js';
import { type Mode, SIGHTS, VERDICT_READINGS } from './mode.js';
import { MODES } from './modes.js';

/** Which judge is asked, and how it is told to judge. */
export const JUDGE_INSTRUMENT = {
  ...under('Judge', {
    'judge-base-url': option.list('URL', 'OpenAI-compatible endpoint; several share the rows', { check: httpUrl }),
    'judge-model': option.text('NAME', 'model to ask for'),
    'judge-api-key': option.text('KEY', 'key, sent as bearer token; at api.openai.com OPENAI_API_KEY without it', {
      secret: true,
    }),
    rubrics: option.text(
      'PACK',
      "awb-3 (bundled), official (the paper's, fetched at cd0aa83), folder of a pack, or checkout of the official repository",
    ),
    verdicts: option.choice(
      VERDICT_READINGS,
      'strict: five ratings of 1 to 5 under the mark of the case; official: as the official script asks and reads (default: as the rubrics are)',
    ),
    'verdict-schema': option.flag(
      'hold verdicts to a JSON schema, in which checklist and reasons come before the scores',
    ),
    'max-retries': option.integer('tries in all for a readable verdict', { min: 1, default: 3 }),
  }),
} as const satisfies OptionTable;

export const JUDGE_OPTIONS = {
  ...under('Data', {
    predictions: option.text('FILE', 'predictions.jsonl of awb infer or of the official script, or its folder', {
      required: true,
    }),
    reference: option.text(
      'FILE',
      'predictions to compare with under --mode reference, of another world model over the same rows',
    ),
    'output-dir': option.text('DIR', 'folder of judged.jsonl (default: that of the predictions)'),
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean predictions'),
    label: option.text('NAME', 'names a second judging: judged.NAME.jsonl', { check: shortLabel }),
    fresh: option.flag('start over; the old files are kept aside'),
  }),
  mode: option.choice(keysOf(MODES), helpOf(MODES), { default: 'rubric', group: 'Judge' }),
  ...JUDGE_INSTRUMENT,
  ...under('Judge', {
    'judge-sees': option.choice(
      SIGHTS,
      'of a rollout: history shows recorded turns and the truth; rollout the simulated turns and no truth: does it agree with itself?',
      { default: 'history' },
    ),
    'domain-prompts': option.text(
      'DIR',
      'for --mode decision, a folder whose agent/<domain>.txt say how an agent acts, beside the bundled ones or instead',
    ),
    'judge-repeats': option.integer('judge every prediction N times', { min: 1, max: MOST_JUDGEMENTS, default: 1 }),
    recheck: option.integer("judge N stored rows again with today's judge and report the shift", { min: 2 }),
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

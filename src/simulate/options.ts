// The options that open a simulation: where it starts, and the world model that is asked.

import { INFER_OPTIONS } from '../infer/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { type OptionTable, type Settings, under } from '../settings/options.js';

const {
  'data-dir': dataDir,
  'model-base-url': modelBaseUrl,
  'model-name': modelName,
  'model-api-key': modelApiKey,
  'system-prompt': systemPrompt,
  'domain-prompts': domainPrompts,
} = INFER_OPTIONS;
const {
  'fit-max-tokens': _fit,
  'keep-going': _keepGoing,
  tokenizer: _tokenizer,
  'dry-run': _dryRun,
  'estimate-from': _estimateFrom,
  rate: _rate,
  events: _events,
  ...asking
} = ASKING_OPTIONS;

export const SIMULATION_OPTIONS = {
  ...under('World', {
    domain: { kind: 'text', value: 'NAME', short: 'd', help: 'start an empty world of this domain, such as terminal' },
    task: { kind: 'text', value: 'TEXT', help: 'what is to be done there; told to the world model' },
    state: {
      kind: 'text',
      value: 'FILE|TEXT',
      help: 'what is there before the first action: a file of it, or the text itself',
    },
    from: {
      kind: 'text',
      value: 'ROW',
      help: 'start where this row of --data-dir stands, its earlier turns true: a key, DOMAIN:ID:TURN, or an id',
    },
    'list-rows': { kind: 'boolean', help: 'list the rows that --from can name, and exit' },
    'data-dir': dataDir,
  }),
  'model-base-url': { ...modelBaseUrl, help: 'OpenAI-compatible endpoint; several share the worlds' },
  'model-name': modelName,
  'model-api-key': modelApiKey,
  'system-prompt': {
    ...systemPrompt,
    help: "row: the row's own, and bundled without a row; bundled: its domain's; bundled+row: both; or a FILE",
  },
  'domain-prompts': domainPrompts,
  context: {
    kind: 'integer',
    min: 1,
    group: 'Model',
    help: 'tokens that the model takes, prompt and reply, where its server does not tell',
  },
  ...asking,
  'budget-usd': { ...asking['budget-usd'], help: 'ask nothing more once X US dollars are spent (exit 75)' },
  'budget-tokens': { ...asking['budget-tokens'], help: 'ask nothing more once N tokens are spent, prompt and output' },
} as const satisfies OptionTable;

export type SimulationSettings = Settings<typeof SIMULATION_OPTIONS>;

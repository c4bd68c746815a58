// awb samples: prints the samples of a judged run, filtered as in the web app, for terminals and scripts.

import { z } from 'zod';
import { COUNT, documentOf, FIGURE, keyed, TEXT } from '../core/document.js';
import { closing, EXIT, present, UserError } from '../core/errors.js';
import { FACTS } from '../core/facts.js';
import { counted, oneLine, printable, shortened } from '../core/printable.js';
import { unknownName } from '../core/schema.js';
import { blocksText, bold, type Look, lookOf, wrapped } from '../core/terminal.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { readWithOther } from '../results/find.js';
import { print } from '../results/output.js';
import type { ReadRun } from '../results/read-run.js';
import { defineCommand, option } from '../settings/command.js';
import type { SampleList } from '../view/documents.js';
import { choicesOf, QUERY_PARTS, type Query, type Selected, sampleName, select } from '../view/query.js';
import { inReadingOrder, sampleList } from '../view/sample-list.js';
import { openTexts, type RowTexts } from '../view/sample-texts.js';

export const command = defineCommand({
  description:
    "Prints samples of a judged run, worst first, with action, truth, prediction and the judge's findings. The filters are those of awb view.",
  examples: {
    'awb samples results/step-100': 'the 20 worst',
    'awb samples step-100 --filter rating=wrong --filter domain=terminal': 'what went wrong in one domain',
    'awb samples step-200 --compare step-100 --filter change=worse': 'what got worse, largest change first',
    'awb samples step-100 --filter failure=empty --json | jq .samples[].key': 'keys for awb infer --ids',
  },
  options: {
    run: JUDGED_RUN,
    worst: option.integer('samples to show, worst first', { min: 1, default: 20 }),
    filter: option.map(`which samples, by ${QUERY_PARTS.join(', ')} (docs/view.md)`, { value: 'NAME=VALUE' }),
    compare: option.text('RUN', 'another run, to filter and sort by changes since then'),
    db: RUN_OPTIONS.db,
    'data-dir': option.text('DIR', 'folder of *_test.jsonl files, for lean rows'),
  },
  operands: ['run'],
  async run(settings, io) {
    const { run, other } = await readWithOther(settings, io);
    if (run.made.mode === 'scenarios')
      throw new UserError(`${run.name} is a run on scenarios; awb report shows its samples`);
    const list = sampleList(run);
    const against = other && sampleList(other);
    const found = select(list, queryOf(settings.filter, list, against), against);
    const rows = inReadingOrder(run);
    const shown: Shown[] = [];
    await closing(await openTexts(run, settings.dataDir, io), async (texts) => {
      for (const selected of found.slice(0, settings.worst)) {
        shown.push({ list, ...selected, texts: await texts.read(present(rows[selected.at])) });
      }
    });
    const described = ({ name, source }: ReadRun) => ({ name, source });
    const runs = { run: described(run), compare: other && described(other) };
    const samples = shown.map(documentOfSample);
    const document = documentOf(SAMPLES, { schema: 'awb.samples/1', ...runs, found: found.length, samples });
    print(document, () => textOf(shown, found.length, lookOf(settings, io)), settings, io);
    return EXIT.done;
  },
});

/** The query of the filters. @throws UserError (2) for an unknown name or value, with the known ones */
function queryOf(filters: Readonly<Record<string, string>>, list: SampleList, against: SampleList | undefined): Query {
  const choices = choicesOf(list, against);
  for (const [name, value] of Object.entries(filters)) {
    const part = QUERY_PARTS.find((known) => known === name);
    if (part === undefined) throw new UserError(unknownName(`--filter ${oneLine(name, 60)}`, name, QUERY_PARTS));
    const known = choices[part];
    if (known === undefined || known.includes(value)) continue;
    if (part === 'change' && against === undefined) throw new UserError('--filter change needs --compare RUN');
    const what = `--filter ${name}=${oneLine(value, 60)}`;
    throw new UserError(known.length === 0 ? `${what}: this run has none` : unknownName(what, value, known));
  }
  return filters;
}

/** A sample with its texts. */
interface Shown extends Selected {
  readonly list: SampleList;
  readonly texts: RowTexts;
}

const NAMED = z.strictObject(keyed(z.string(), 'name', 'source'));
/** The document of `awb samples`. */
export const SAMPLES = z.strictObject({
  schema: z.literal('awb.samples/1'),
  run: NAMED,
  compare: NAMED.nullable(),
  /** How many the filters select; `samples` are the first of them. */
  found: COUNT,
  samples: z.array(
    z.strictObject({
      key: z.string(),
      ...keyed(COUNT, 'repeat', 'judgement'),
      ...keyed(z.string(), 'name', 'domain', 'trajectory'),
      turn: COUNT,
      ...keyed(FIGURE, 'score', 'change'),
      /** Ratings or measures by name. */
      figures: z.record(z.string(), FIGURE),
      flags: z.array(z.string()),
      ...keyed(TEXT, 'failure_class', 'failure_reason'),
      /** The checklist; null if the row has none. */
      facts: FACTS.nullable(),
      ...keyed(z.array(z.string()), 'strengths', 'weaknesses'),
      ...keyed(z.string(), 'action', 'truth'),
      /** Null if nothing was predicted. */
      prediction: TEXT,
      /** The model's unchanged reply, if it differs from the prediction. */
      reply: TEXT,
    }),
  ),
});

function documentOfSample({ list, sample, change, texts }: Shown) {
  const { k, r = 0, j = 0, d, g, t, v, f, x, y, l = [] } = sample;
  return {
    ...{ key: k, repeat: r, judgement: j, name: sampleName(list, sample) },
    ...{ domain: list.domains[d]?.domain ?? '', trajectory: list.trajectories[g] ?? '', turn: t, score: v, change },
    figures: Object.fromEntries(list.figures.flatMap(([name], at) => (f === undefined ? [] : [[name, f[at] ?? null]]))),
    ...{ flags: l, failureClass: x, failureReason: y, facts: texts.facts?.map((fact) => ({ ...fact })) },
    ...{ strengths: texts.strengths, weaknesses: texts.weaknesses, action: texts.action, truth: texts.truth },
    ...{ prediction: texts.prediction || undefined, reply: texts.reply || undefined },
  };
}

/** The most lines shown of each text. */
const MOST_LINES = { action: 4, truth: 8, prediction: 8 };

function textOf(shown: readonly Shown[], found: number, look: Look): string {
  if (found === 0) return 'no sample matches\n';
  const more = shown.length < found ? `; --worst ${found} shows all` : '';
  return blocksText([
    ...shown.map((one) => linesOf(one, look)),
    [`${shown.length} of ${counted(found, 'sample')}${more}`],
  ]);
}

function linesOf({ list, sample, change, texts }: Shown, look: Look): string[] {
  const { k, v, f, x, y = '', l = [], u = [], n } = sample;
  const { decimals } = list.lead;
  const score = v === undefined ? 'no score' : v.toFixed(decimals);
  const moved = change === undefined ? '' : ` (${change > 0 ? '+' : ''}${change.toFixed(decimals)})`;
  const figures = list.figures.flatMap(([name], at) => (f?.[at] == null ? [] : `${oneLine(name, 24)} ${f[at]}`));
  const said = (what: string, text: string | undefined) =>
    text ? wrapped(`${what}: ${oneLine(text, 400)}`, look.columns - 2, 2) : [];
  const passage = (what: keyof typeof MOST_LINES) => {
    const lines = printable(texts[what], { multiline: true }).split('\n');
    const left = lines.splice(MOST_LINES[what]).length;
    const cut = lines.map((line) => `| ${shortened(line.replaceAll('\t', '    '), look.columns - 4)}`);
    return [what, ...cut, ...(left > 0 ? [`| … ${counted(left, 'more line')}`] : [])];
  };
  const lines = [
    ...(figures.length > 0 ? wrapped(figures.join(', '), look.columns - 2) : []),
    ...said('flags', l.join(', ')),
    ...said('failed', x && `${x}: ${y}`),
    ...passage('action'),
    ...passage('truth'),
    ...(texts.prediction === '' ? ['no prediction'] : passage('prediction')),
    ...u.flatMap((claim) => said('not met', claim)),
    ...said('weakness', n),
    `key ${oneLine(k, 80)}`,
  ];
  return [
    bold(`${oneLine(sampleName(list, sample), 200)}  ${score}${moved}`, look),
    ...lines.map((line) => `  ${line}`),
  ];
}

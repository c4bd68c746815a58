// awb agree and awb panel: people's ratings against a judge's, with their agreement among themselves as the ceiling; and several judgings of
// the same predictions joined into one judged file, every judge counting alike.

import { resolve } from 'node:path';
import { judgedFilesOf } from '../benchmark/judged-path.js';
import { type PlacedRating, readRatings } from '../benchmark/ratings.js';
import { badData, EXIT, heedStop, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { groupBy, keysOf } from '../core/groups.js';
import { printable, shellLine } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import { joinMembers, readMembers, writePanel } from '../judge/panel.js';
import { agreementText, panelText } from '../report/agreement.js';
import { type Matched, matchRatings, REASONS, readPredictions } from '../results/agree.js';
import { defineCommand, option, programName } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import { COMBINATIONS } from '../stats/agreement/panel.js';
import { agreementWithPeople } from '../stats/agreement/people.js';

export const agree = defineCommand({
  description:
    "Holds a judge against people who rated the same predictions: weighted kappa and bias by dimension, interval alpha of the totals, and the people's agreement among themselves, which is the ceiling.",
  examples: {
    'awb agree --ratings ratings.jsonl --predictions out/judged.jsonl': 'one rater against the judge',
    'awb agree --ratings ann.jsonl,bob.csv --predictions out --json | jq .total': 'two raters; unrounded figures',
  },
  options: {
    ratings: option.list('F', 'files that the page of awb rate saved, or CSV of that form', { required: true }),
    predictions: option.list('RUN', 'the judged.jsonl that was rated, or its folder; or several', { required: true }),
    draws: option.integer('resamples behind each interval', { min: 100, max: 1_000_000, default: 10_000 }),
    seed: option.integer('seed of the resamples', { min: 0, default: 1 }),
  },
  async run(settings, io) {
    const ratings: PlacedRating[] = [];
    for (const file of new Set(settings.ratings.map((each) => resolve(io.cwd, each)))) {
      ratings.push(...(await readRatings(file, shownPath(file, io), io.stop)));
    }
    const left: string[] = [];
    const paths = [...new Set(judgedFilesOf(settings.predictions, io, (text) => left.push(text)))];
    const wanted = new Set(ratings.map(({ key, repeat }) => rowId(key, repeat)));
    const { predictions, warnings } = await readPredictions(paths, wanted, io.stop);
    const matched = matchRatings(ratings, predictions);
    if (!settings.quiet)
      for (const note of [...left, ...warnings, ...notesOn(matched)]) io.stderr.write(`note: ${printable(note)}\n`);
    if (matched.predictions.length === 0) {
      throw badData(
        `none of the ${counted(ratings.length, 'rating')} counts; --predictions names the judged file that they were made from`,
      );
    }
    const found = agreementWithPeople(matched.predictions, { draws: settings.draws, seed: settings.seed });
    await heedStop(io);
    if (settings.json) {
      const { leftOut, unchecked } = matched;
      const document = {
        schema: 'awb.agree/1',
        predictions_files: paths,
        ...found,
        left_out: leftOut.map(({ place, why }) => ({ place, why, reason: REASONS[why] })),
        without_hash: unchecked,
        resampling: { draws: settings.draws, seed: settings.seed, unit: 'trajectory' },
      };
      io.stdout.write(`${JSON.stringify(document)}\n`);
    } else {
      io.stdout.write(agreementText(found, lookOf(settings, io)));
    }
    return EXIT.done;
  },
});

/** Named ratings of a kind, before the rest is counted. */
const MOST_NAMED = 10;

/** Ratings that do not count, each with file and line; of many of a kind the first. */
function notesOn({ leftOut, unchecked }: Matched): string[] {
  const kinds = [...groupBy(leftOut, ({ why }) => why)];
  const named = new Set(kinds.flatMap(([, own]) => own.slice(0, MOST_NAMED)));
  const unhashed = `${counted(unchecked, 'rating')} without prediction_sha256: nobody can tell whether the prediction is still the one that was rated`;
  const further = kinds.filter(([, own]) => own.length > MOST_NAMED);
  return [
    ...leftOut.filter((one) => named.has(one)).map(({ place, why }) => `${place}: left out: ${REASONS[why]}`),
    ...further.map(
      ([why, own]) => `and ${counted(own.length - MOST_NAMED, 'further rating')} left out: ${REASONS[why]}`,
    ),
    ...(unchecked === 0 ? [] : [unhashed]),
  ];
}

export const panel = defineCommand({
  description:
    'Joins judgings of the same predictions into one judged file, which score, compare, gate, leaderboard and report read like any other. Every judge counts alike. It says how far the judges agree.',
  examples: {
    'awb panel out/judged.jsonl out/judged.qwen.jsonl --output out/panel.jsonl': 'the mean of two judges',
    'awb panel a.jsonl b.jsonl c.jsonl --combine median --output panel.jsonl': 'the middle of three',
    'awb panel a.jsonl b.jsonl c.jsonl --quorum 2 --output panel.jsonl': 'rows that one judge failed on, too',
  },
  options: {
    judged: option.list('RUN', 'judged files, or folders, of the same predictions and rubrics', { required: true }),
    output: option.text('FILE', 'the judged file to write', { short: 'o', required: true }),
    combine: option.choice(keysOf(COMBINATIONS), "how the judges' ratings become one", { default: 'mean' }),
    quorum: option.integer("a row needs N judges, not all; each judge's offset is then taken out", { min: 1 }),
    fresh: option.flag('write over another file; the old one is kept aside'),
  },
  operands: ['judged'],
  async run(settings, io, shown) {
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
    io.stdout.write(panelText(joined.panel, lookOf(settings, io)));
    io.stdout.write(`\nwritten: ${shownPath(path, io)}\nnext: ${programName(io)} ${next}\n`);
    return exitCode;
  },
});

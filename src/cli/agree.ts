// awb agree: compares a judge's ratings with people's, whose agreement with each other is the ceiling.

import { resolve } from 'node:path';
import { judgedFilesOf } from '../benchmark/judged-path.js';
import { type PlacedRating, readRatings } from '../benchmark/ratings.js';
import { badData, EXIT, heedStop } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { counted, shownPath } from '../core/printable.js';
import { rowId } from '../core/row-id.js';
import { lookOf } from '../core/terminal.js';
import { agreementOfPeople, agreementText } from '../report/agreement.js';
import { type Matched, matchRatings, REASONS, readPredictions } from '../results/agree.js';
import { noting, OPEN, pageLink, print, requirePageName, writeText } from '../results/output.js';
import { defineCommand, option } from '../settings/command.js';
import { agreementWithPeople } from '../stats/agreement/people.js';
import { resultPage, shownAgreement } from '../view/result-documents.js';

export const command = defineCommand({
  description:
    "Compares a judge with people who rated the same predictions: weighted kappa and bias by dimension, interval alpha of the totals, and the people's agreement with each other, which is the ceiling.",
  examples: {
    'awb agree --ratings ratings.jsonl --predictions out/judged.jsonl': 'one rater against the judge',
    'awb agree --ratings ann.jsonl,bob.csv --predictions out --json | jq .total': 'two raters; unrounded figures',
  },
  options: {
    ratings: option.list('F', 'files saved by the awb rate page, or CSV with the same fields', { required: true }),
    predictions: option.list('RUN', 'judged files that were rated, or their folders', { required: true }),
    draws: option.integer('resamples for each interval', { min: 100, max: 1_000_000, default: 10_000 }),
    seed: option.integer('seed of the resamples', { min: 0, default: 1 }),
    html: option.text('FILE', 'write the result as a page'),
    open: OPEN,
  },
  async run(settings, io) {
    requirePageName(settings.html, '--html', settings);
    const ratings: PlacedRating[] = [];
    for (const file of new Set(settings.ratings.map((each) => resolve(io.cwd, each)))) {
      ratings.push(...(await readRatings(file, shownPath(file, io), io.stop)));
    }
    const note = noting(settings, io);
    const paths = [...new Set(judgedFilesOf(settings.predictions, io, note))];
    const wanted = new Set(ratings.map(({ key, repeat }) => rowId(key, repeat)));
    const { predictions, warnings } = await readPredictions(paths, wanted, io.stop);
    const matched = matchRatings(ratings, predictions);
    for (const text of [...warnings, ...notesOn(matched)]) note(text);
    if (matched.predictions.length === 0) {
      throw badData('no rating matches; use --predictions to name the judged file that was rated');
    }
    const found = agreementWithPeople(matched.predictions, { draws: settings.draws, seed: settings.seed });
    await heedStop(io);
    if (settings.html !== undefined) {
      const title = 'A judge and people';
      const page = resultPage(title, 'agreement', shownAgreement(title, agreementOfPeople(found)));
      await writeText(settings.html, await page, '--html', io);
      const link = await pageLink(settings.html, settings, io);
      if (!settings.quiet) io.stderr.write(`page: ${link}\n`);
    }
    const { leftOut, unchecked } = matched;
    const document = {
      schema: 'awb.agree/1',
      predictions_files: paths,
      ...found,
      left_out: leftOut.map(({ place, why }) => ({ place, why, reason: REASONS[why] })),
      without_hash: unchecked,
      resampling: { draws: settings.draws, seed: settings.seed, unit: 'trajectory' },
    };
    print(document, () => agreementText(agreementOfPeople(found), lookOf(settings, io)), settings, io);
    return EXIT.done;
  },
});

/** How many ratings left out for one reason are named; the rest are only counted. */
const MOST_NAMED = 10;

/** Notes on ratings that do not count, by reason: the first ones with file and line. */
function notesOn({ leftOut, unchecked }: Matched): string[] {
  const notes = [...groupBy(leftOut, ({ why }) => why)].flatMap(([why, own]) => {
    const named = own.slice(0, MOST_NAMED).map(({ place }) => `${place}: left out: ${REASONS[why]}`);
    const left = own.length - named.length;
    return left === 0 ? named : [...named, `and ${counted(left, 'further rating')} left out: ${REASONS[why]}`];
  });
  if (unchecked > 0) notes.push(`${counted(unchecked, 'rating')} without prediction_sha256: the rated text may differ`);
  return notes;
}

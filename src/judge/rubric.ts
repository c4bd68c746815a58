// The mode `rubric`: a judge rates five dimensions under a rubric pack.

import { EXIT, UserError } from '../core/errors.js';
import { FACTS_VERSION } from '../core/facts.js';
import { FACTS_RECALL, QUOTES_FOUND, rated, unrated } from '../core/judgement.js';
import { readPrediction, withIndent, withoutMarker } from '../core/reply.js';
import type { RubricPack } from '../core/rubric.js';
import { groundTruthOf } from '../core/turn.js';
import type { Verdict } from '../core/types.js';
import type { Mode, VerdictReading } from './mode.js';

const RECALL = { one: 'recall of determined facts', many: 'shares of determined facts that were met' };
const FOUND = { one: 'share of quotes found', many: 'shares of quotes in checklists that truth or prediction holds' };

export const rubric: Mode<readonly [Verdict & { status: 'ok' }]> = {
  help: 'an LLM rates five dimensions',
  noun: 'judgements',
  asksJudge: true,
  rates: true,
  judgesWithoutTruth: true,
  measures: {
    [FACTS_RECALL]: { range: [0, 100], better: 'larger', words: RECALL },
    [QUOTES_FOUND]: { range: [0, 100], better: 'neither', words: FOUND },
  },
  async open({ verdicts: wanted, rubrics, holdsReplies = false, sees = 'history' }) {
    // Whoever only asks what the mode declares does not load it.
    const { READINGS, SCHEMA_VERSION, verdictFormat } = await import('./verdicts.js');
    const { answerMark, askingForMark } = await import('./answer-mark.js');
    const { buildJudgeMessages, messageVersions, textsShown } = await import('./rubric-messages.js');
    const { invitesConfusion } = await import('../benchmark/suspicion.js');
    const pack = sees === 'history' ? await rubrics() : withoutTruth(await rubrics());
    const verdicts = readingFor(pack, wanted);
    const reader = READINGS[verdicts];
    // The official rubrics ask for text around the JSON.
    const isHeld = holdsReplies && !pack.official;
    return {
      name: pack.hidesTruth ? `${pack.name}-rollout` : pack.name,
      identity: {
        rubrics: {
          ...{ name: pack.name, fingerprint: pack.fingerprint, ...messageVersions(pack) },
          ...(pack.facts === undefined ? {} : { facts: FACTS_VERSION }),
        },
        verdicts,
        ...(sees === 'history' ? {} : { sees }),
        ...(reader.version === undefined ? {} : { reading: reader.version }),
        ...(isHeld ? { verdict_schema: SCHEMA_VERSION } : {}),
      },
      ...(isHeld ? { replyForm: verdictFormat(pack, reader) } : {}),
      refusal: (domain) =>
        pack.systemPrompt(domain) === undefined
          ? `the rubric pack ${pack.name} has no prompt for the domain "${domain}", only for ${pack.domains.join(', ')}; add one, or name another pack with --rubrics`
          : undefined,
      parts({ sample, gen }) {
        const read = readPrediction(gen);
        const prediction = pack.official ? read : withIndent(read, gen);
        const markOf = (attempt: number) => answerMark(sample, [prediction], attempt);
        return [
          {
            request(attempt) {
              const messages = buildJudgeMessages(pack, sample, prediction);
              const form = isHeld ? 'object' : 'block';
              return reader.asksMark
                ? { messages: askingForMark(messages, form, markOf(attempt), attempt) }
                : { messages };
            },
            read: (reply, attempt) =>
              reader.read(reply, {
                mark: markOf(attempt),
                isHeld,
                countsUnmarked: () => !invitesConfusion(textsShown(pack, sample, prediction), prediction),
              }),
          },
        ];
      },
      join([{ reading, reply }], { sample, gen }) {
        const quotable = [groundTruthOf(sample), withoutMarker(readPrediction(gen))];
        return rated(reading, { rubrics: pack, reply, asksFacts: pack.facts === true, quotable });
      },
      fail: (failure, _subject, reply) => unrated(failure, { rubrics: pack, reply }),
    };
  },
};

/** Official rubrics are read as the official script reads them. @throws UserError (2) where they are to be read otherwise. */
function readingFor(pack: RubricPack, wanted: VerdictReading | undefined): VerdictReading {
  if (!pack.official) return wanted ?? 'strict';
  if (wanted !== 'strict') return 'official';
  throw new UserError(
    'the official rubrics do not ask for the answer mark that --verdicts strict needs; leave --verdicts out, or take the bundled rubrics',
    EXIT.usage,
  );
}

/** @throws UserError (65) for a pack without texts for it. */
function withoutTruth(pack: RubricPack): RubricPack {
  if (pack.withoutTruth !== undefined) return pack.withoutTruth;
  throw new UserError(
    `the rubric pack ${pack.name} has no texts for judging without a truth, which --judge-sees rollout needs; take a pack whose pack.json names them under "without_truth" (the bundled one does), or leave --judge-sees out`,
    EXIT.badData,
  );
}

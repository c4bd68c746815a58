// The mode `rubric`: a judge rates five dimensions under a rubric pack.

import { EXIT, UserError } from '../errors.js';
import { FACTS_VERSION } from '../facts.js';
import { FACTS_RECALL, rated, unrated } from '../judgement.js';
import { readPrediction } from '../reply.js';
import type { RubricPack } from '../rubric.js';
import type { Verdict } from '../types.js';
import type { Mode } from './mode.js';
import type { VerdictReader } from './readings.js';

const RECALL = { one: 'recall of determined facts', many: 'shares of determined facts that were met' };

export const rubric: Mode<readonly [Verdict & { status: 'ok' }]> = {
  help: 'an LLM rates five dimensions',
  noun: 'judgements',
  asksJudge: true,
  rates: true,
  judgesWithoutTruth: true,
  measures: { [FACTS_RECALL]: { range: [0, 100], better: 'larger', words: RECALL } },
  async open({ verdicts, rubrics, holdsReplies = false, isServedHere = false, sees = 'history' }) {
    // Whoever only asks what the mode declares does not load it.
    const { READINGS } = await import('./readings.js');
    const { buildJudgeMessages, materialOf, messageVersions } = await import('./rubric-messages.js');
    const { SCHEMA_VERSION, verdictFormat } = await import('./verdict-form.js');
    const pack = sees === 'history' ? await rubrics() : withoutTruth(await rubrics());
    const reader: VerdictReader = READINGS[verdicts];
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
        // Judgings under packs without a checklist by a judge that is served here were held to a form before it had a version.
        ...(holdsReplies || (isServedHere && pack.facts) ? { verdict_schema: SCHEMA_VERSION } : {}),
      },
      // The official rubrics ask for text around the JSON.
      ...(pack.official ? {} : { replyForm: verdictFormat(pack) }),
      refusal: (domain) =>
        pack.systemPrompt(domain) === undefined
          ? `the rubric pack ${pack.name} has no prompt for the domain "${domain}", only for ${pack.domains.join(', ')}; add one, or name another pack with --rubrics`
          : undefined,
      parts({ sample, gen }) {
        const prediction = readPrediction(gen);
        return [
          {
            request: () => ({ messages: buildJudgeMessages(pack, sample, prediction) }),
            read: (reply) => reader.read(reply, materialOf(sample, prediction, pack)),
            giveUp: (reason) => reader.giveUp(reason, materialOf(sample, prediction, pack)),
          },
        ];
      },
      join: ([{ reading, reply }]) => rated(reading, { rubrics: pack, reply, asksFacts: pack.facts === true }),
      fail: (failure, _subject, reply) => unrated(failure, { rubrics: pack, reply }),
    };
  },
};

/** @throws UserError (65) for a pack without texts for it. */
function withoutTruth(pack: RubricPack): RubricPack {
  if (pack.withoutTruth !== undefined) return pack.withoutTruth;
  throw new UserError(
    `the rubric pack ${pack.name} has no texts for judging without a truth, which --judge-sees rollout needs; take a pack whose pack.json names them under "without_truth" (the bundled awb-2 does), or leave --judge-sees out`,
    EXIT.badData,
  );
}

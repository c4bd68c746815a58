// The mode `rubric`: a judge rates five dimensions under a rubric pack.

import { rated, unrated } from '../judgement.js';
import { readPrediction } from '../reply.js';
import { DIMENSIONS, type Verdict } from '../types.js';
import type { Mode } from './mode.js';
import type { VerdictReader } from './readings.js';

export const rubric: Mode<readonly [Verdict & { status: 'ok' }]> = {
  help: 'an LLM rates five dimensions',
  noun: 'judgements',
  asksJudge: true,
  rates: true,
  measures: {},
  async open({ verdicts, rubrics }) {
    // Whoever only asks what the mode declares does not load it.
    const { READINGS } = await import('./readings.js');
    const { buildJudgeMessages, FRAME, materialOf } = await import('./rubric-messages.js');
    const pack = await rubrics();
    const reader: VerdictReader = READINGS[verdicts];
    return {
      name: pack.name,
      identity: {
        // Official messages never change, so they have no version.
        rubrics: { name: pack.name, fingerprint: pack.fingerprint, ...(pack.official ? {} : { frame: FRAME }) },
        verdicts,
        ...(reader.version === undefined ? {} : { reading: reader.version }),
      },
      // The official rubrics ask for text around the JSON.
      ...(pack.official ? {} : { replyForm: VERDICT_FORM }),
      refusal: (domain) =>
        pack.systemPrompt(domain) === undefined
          ? `the rubric pack ${pack.name} has no prompt for the domain "${domain}", only for ${pack.domains.join(', ')}; add one, or name another pack with --rubrics`
          : undefined,
      parts({ sample, gen }) {
        const prediction = readPrediction(gen);
        return [
          {
            request: () => ({ messages: buildJudgeMessages(pack, sample, prediction) }),
            read: (reply) => reader.read(reply, materialOf(sample, prediction)),
            giveUp: (reason) => reader.giveUp(reason, materialOf(sample, prediction)),
          },
        ];
      },
      join: ([{ reading, reply }]) => rated(reading, { rubrics: pack, reply }),
      fail: (failure, _subject, reply) => unrated(failure, { rubrics: pack, reply }),
    };
  },
};

/** The verdict's JSON, which both readings find. */
const VERDICT_FORM = {
  type: 'json_schema',
  json_schema: {
    name: 'verdict',
    schema: {
      type: 'object',
      properties: {
        strengths: { type: 'array', items: { type: 'string', maxLength: 200 }, maxItems: 3 },
        weaknesses: { type: 'array', items: { type: 'string', maxLength: 200 }, maxItems: 3 },
        scores: {
          type: 'object',
          properties: Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, { enum: [1, 2, 3, 4, 5] }])),
          required: DIMENSIONS,
          additionalProperties: false,
        },
      },
      required: ['strengths', 'weaknesses', 'scores'],
      additionalProperties: false,
    },
  },
} as const;

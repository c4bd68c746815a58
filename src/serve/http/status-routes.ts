// How the server and its model stand: health, metrics and the list of models.

import { unknownModel } from './api-error.js';
import { answer, answerText } from './body.js';
import { type DeskState, type Handler, loadedEngine, serverDefaults } from './desk-state.js';
import type { Gauges } from './metrics.js';

/** The key of `/v1/models` under which what scores depend on stands. */
const FACTS_KEY = 'agentworldbench';

export const health: Handler = (desk, { response }) => {
  const status = desk.admission.draining ? 'draining' : desk.engine === undefined ? 'loading' : 'ok';
  const { busy, waiting, slots } = gaugesOf(desk);
  answer(response, status === 'ok' ? 200 : 503, { status, busy, waiting, slots });
};

export const metrics: Handler = (desk, { response }) => {
  answerText(response, 200, 'text/plain; version=0.0.4; charset=utf-8', desk.metrics.text(gaugesOf(desk)));
};

function gaugesOf({ engine, admission }: DeskState): Gauges {
  const busy = engine?.busy ?? 0;
  const { slots = 0, contextSize = 0 } = engine?.facts ?? {};
  return { busy, waiting: Math.max(0, admission.admitted - busy), slots, contextSize };
}

/** All names of the model, or one where the path has it. */
export const models: Handler = (desk, { response, path }) => {
  const { facts } = loadedEngine(desk);
  const { models: names } = serverDefaults(desk);
  const entry = (id: string) => ({
    id,
    object: 'model',
    created: desk.createdS,
    owned_by: FACTS_KEY,
    root: facts.name,
    max_model_len: facts.contextSize,
    [FACTS_KEY]: facts,
  });
  const name = decoded(path.slice('/v1/models/'.length));
  if (name === '') {
    answer(response, 200, { object: 'list', data: names.map(entry) });
    return;
  }
  if (!names.includes(name)) throw unknownModel(name, names);
  answer(response, 200, entry(name));
};

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

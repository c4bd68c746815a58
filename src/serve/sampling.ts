// From a request's options to how llama.cpp samples: every knob named, penalties, seeds and grammars.

import { EngineError, type GenerateOptions } from './engine-contract.js';
import { grammarSchema, SchemaError } from './json-schema.js';
import type { Loaded } from './load.js';
import type { Request } from './request.js';
import { type LlamaCpp, lineOf, type Token } from './runtime.js';

/** Seeds are 32 bits wide, and llama.cpp takes the largest as "any". */
function seedOf(seed: number): number {
  return (seed >>> 0) % 0xffff_ffff;
}

/** Every value the library knows: its defaults are not those of the wire format. */
export function sampling(
  { options, grammar, reader, prompt, spoken }: Request,
  contextSize: number,
): LlamaCpp.SequenceEvaluateOptions {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  const penalized = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature: options.temperature,
    topK: options.topK,
    topP: options.topP,
    minP: options.minP,
    seed: seedOf(options.seed),
    ...(grammar === undefined ? {} : { grammarEvaluationState: () => (reader.inThinking ? undefined : grammar) }),
    ...(penalized
      ? {
          repeatPenalty: {
            punishTokens: () => [...(repetitionPenalty === 1 ? [] : prompt.tokens), ...spoken] as Token[],
            maxPunishTokens: contextSize,
            penalty: repetitionPenalty,
            presencePenalty,
            frequencyPenalty,
          },
        }
      : {}),
  };
}

/** Presence and frequency count the reply's tokens, repetition the prompt's too; llama.cpp keeps one count for all three. */
export function refusePenaltyMix({ repetitionPenalty, presencePenalty, frequencyPenalty }: GenerateOptions): void {
  if (repetitionPenalty === 1 || (presencePenalty === 0 && frequencyPenalty === 0)) return;
  throw new EngineError({
    reason: 'invalid-request',
    message:
      'repetition_penalty cannot be combined with presence_penalty or frequency_penalty here; set it to 1 or the others to 0',
    param: 'repetition_penalty',
  });
}

export async function grammarOf(
  { runtime, llama, model }: Loaded,
  { responseFormat }: GenerateOptions,
): Promise<LlamaCpp.LlamaGrammarEvaluationState | undefined> {
  if (responseFormat.type === 'text') return undefined;
  try {
    const grammar =
      responseFormat.type === 'json_object'
        ? await llama.getGrammarFor('json')
        : await schemaGrammar(llama, responseFormat.schema);
    return new runtime.LlamaGrammarEvaluationState({ model, grammar });
  } catch (error) {
    if (!(error instanceof SchemaError) && responseFormat.type === 'json_object') throw error;
    throw new EngineError({ reason: 'invalid-request', message: lineOf(error), param: 'response_format' });
  }
}

/** The library's grammar, but for its integers: it lets them have exponents, and 5E-1 is none. */
async function schemaGrammar(
  llama: LlamaCpp.Llama,
  schema: Readonly<Record<string, unknown>>,
): Promise<LlamaCpp.LlamaGrammar> {
  const made = await llama.createGrammarForJsonSchema(grammarSchema(schema) as { readonly type: 'object' });
  const grammar = made.grammar.replace(
    /^integer-number-rule ::= .*$/m,
    'integer-number-rule ::= "-"? ("0" | [1-9] [0-9]{0,15})',
  );
  return grammar === made.grammar ? made : llama.createGrammar({ grammar });
}

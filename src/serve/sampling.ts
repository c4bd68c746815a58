// From a request's options to how llama.cpp samples: every knob named, penalties, seeds and grammars.

import { EngineError, type GenerateOptions } from './engine-contract.js';
import type { Request } from './engine-request.js';
import type { Loaded } from './load.js';
import { asToken, asTokens, type LlamaCpp, lineOf } from './runtime.js';
import { grammarSchema } from './schema/json-schema.js';
import type { Rules } from './schema/schema-types.js';
import { SchemaError } from './schema/schema-values.js';

/** Seeds are 32 bits wide, and llama.cpp takes the largest as "any". */
function seedOf(seed: number): number {
  return (seed >>> 0) % 0xffff_ffff;
}

/** What every token of a reply is sampled with. Every value is named: the library's defaults are not those of the wire format. */
export function knobs({ temperature, topK, topP, minP, seed }: GenerateOptions) {
  return { temperature, topK, topP, minP, seed: seedOf(seed) };
}

/** The same for node-llama-cpp's own evaluation, with all that changes from token to token. */
export function sampling(
  request: Request,
  contextSize: number,
  { runtime, model }: Pick<Loaded, 'runtime' | 'model'>,
): LlamaCpp.SequenceEvaluateOptions {
  const { options, grammar, reader } = request;
  const penalties = penaltiesOf(request);
  const tokenBias = (): LlamaCpp.TokenBias => {
    const bias = runtime.TokenBias.for(model);
    for (const [token, logit] of penalties?.biases() ?? []) bias.set(asToken(token), { logit });
    return bias;
  };
  return {
    ...knobs(options),
    ...(grammar === undefined ? {} : { grammarEvaluationState: () => (reader.inThinking ? undefined : grammar) }),
    ...(penalties && {
      repeatPenalty: {
        punishTokens: () => asTokens(penalties.punished()),
        maxPunishTokens: contextSize,
        penalty: penalties.repetition,
        presencePenalty: penalties.presence,
        frequencyPenalty: penalties.frequency,
      },
    }),
    ...(penalties?.isBiased && { tokenBias }),
  };
}

interface Penalties {
  readonly repetition: number;
  readonly presence: number;
  readonly frequency: number;
  /** Tokens that count. */
  punished(): number[];
  /** Whether there are biases once there are tokens. */
  readonly isBiased: boolean;
  /** Logits by token. */
  biases(): ReadonlyMap<number, number>;
}

/**
 * Presence and frequency count the reply's tokens, repetition the prompt's too, as in vLLM. llama.cpp keeps one count for all three, so
 * that beside a repetition penalty the other two become biases, which it adds before it divides by that penalty: multiplied by it, they
 * come out as they are asked for wherever the logit stays above 0. Undefined where nothing is penalised.
 */
export function penaltiesOf({ options, prompt, spoken }: Request): Penalties | undefined {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  const isCounted = presencePenalty !== 0 || frequencyPenalty !== 0;
  if (repetitionPenalty === 1) {
    if (!isCounted) return undefined;
    return {
      repetition: 1,
      presence: presencePenalty,
      frequency: frequencyPenalty,
      isBiased: false,
      punished: () => [...spoken],
      biases: () => new Map(),
    };
  }
  return {
    repetition: repetitionPenalty,
    presence: 0,
    frequency: 0,
    isBiased: isCounted,
    punished: () => [...prompt.tokens, ...spoken],
    biases() {
      const counts = new Map<number, number>();
      for (const token of spoken) counts.set(token, (counts.get(token) ?? 0) + 1);
      const logit = (count: number) => -repetitionPenalty * (presencePenalty + frequencyPenalty * count);
      return new Map([...counts].map(([token, count]) => [token, logit(count)]));
    },
  };
}

/** What holds the reply, if anything does. Throws EngineError for a schema that no grammar can hold. */
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
  const rules: Rules = new Map();
  // The library derives its type from a schema's literals, which are unknown here; grammarSchema makes only what it reads.
  const converted = grammarSchema(schema, rules) as { readonly type: 'object' };
  const made = await llama.createGrammarForJsonSchema(converted);
  const whole = made.grammar.replace(
    /^integer-number-rule ::= .*$/m,
    'integer-number-rule ::= "-"? ("0" | [1-9] [0-9]{0,15})',
  );
  const grammar = [...rules].reduce(
    (text, [name, rule]) => text.replaceAll(`"\\"${name}\\""`, () => `( ${rule} )`),
    whole,
  );
  return grammar === made.grammar ? made : llama.createGrammar({ grammar });
}

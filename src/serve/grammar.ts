// What holds a reply to a form: a grammar for any JSON object or for a schema.

import { EngineError, type GenerateOptions } from './engine-contract.js';
import type { Loaded } from './load.js';
import { type LlamaCpp, lineOf } from './runtime.js';
import { grammarSchema } from './schema/json-schema.js';
import type { Rules } from './schema/schema-types.js';
import { SchemaError } from './schema/schema-values.js';

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

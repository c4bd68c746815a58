// Prompts on their way to tokens.

import { describe, expect, test } from 'vitest';
import type { EngineMessage } from '../../src/serve/request.js';
import { ask, random, start, user } from '../support/engine.js';

describe('prompts', () => {
  test('a far too long one is refused after its first piece, without reading the rest', async () => {
    const { engine } = await start(random, { contextSize: 1024 });
    // Of 600,000 tokens; between the pieces others have their turn.
    const refused = await ask(engine, user('many words '.repeat(200_000))).catch((error: Error) => error);
    const [, counted] = /more than (\d+) tokens.* 1024 tokens/.exec((refused as Error).message) ?? [];
    expect(refused).toMatchObject({ code: 'context_length_exceeded' });
    expect(Number(counted)).toBeLessThan(50_000);
  });

  const tools = [{ type: 'function' as const, function: { name: 'look', parameters: { type: 'object' } } }];
  const PLAIN = { templateArguments: {}, addGenerationPrompt: false };

  test('tools, calls and their answers go through the template', async () => {
    const { engine } = await start(random);
    const call = { id: 'c', type: 'function' as const, function: { name: 'look', arguments: { at: 'x', n: 5 } } };
    const messages: EngineMessage[] = [
      ...user('Look.'),
      { role: 'assistant', content: '', tool_calls: [call] },
      { role: 'tool', content: 'a door', tool_call_id: 'c' },
    ];
    const text = engine.detokenize(await engine.tokenize({ messages, tools }, PLAIN));
    expect(text).toContain('"name": "look"');
    expect(text).toContain(
      '<function=look>\n<parameter=at>\nx\n</parameter>\n<parameter=n>\n5\n</parameter>\n</function>',
    );
    expect(text).toContain('<|im_start|>user\n<tool_response>\na door\n</tool_response><|im_end|>');
  });
});

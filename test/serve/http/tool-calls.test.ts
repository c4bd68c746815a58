// Function calls, parsed from the model's text.

import type OpenAI from 'openai';
import { describe, expect, test } from 'vitest';
import {
  chunksOf,
  clientOf,
  content,
  END,
  HELLO,
  post,
  type Script,
  scripted,
  serve,
} from '../../support/scripted-server.js';

describe('tools', () => {
  const parameters = { type: 'object', properties: { city: { type: 'string' }, days: { type: 'integer' } } };
  const tools = [{ type: 'function' as const, function: { name: 'weather', parameters } }];
  const CALL =
    '<tool_call>\n<function=weather>\n<parameter=city>\n5\n</parameter>\n<parameter=days>\n5\n</parameter>\n</function>\n</tool_call>';
  const saying = (...parts: string[]): Script =>
    async function* () {
      for (const part of parts) yield content(part);
      yield END;
    };
  const call = (name: string, given: unknown) => ({
    id: expect.stringMatching(/^call_\w+$/),
    type: 'function',
    function: { name, arguments: JSON.stringify(given) },
  });

  test.each([
    ['in tags', [CALL]],
    ['in tags, letter by letter', [...CALL]],
    ['as JSON', ['<tool_call>\n{"name": "weather", "arguments": {"city": "5", "days": 5}}\n</tool_call>']],
    ['without its end', [CALL.replace('</tool_call>', '')]],
  ])('a call %s is read, with the types of its schema', async (_, parts) => {
    const engine = scripted(saying(...parts));
    const server = await serve(engine);
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    expect(reply.choices[0]).toMatchObject({
      finish_reason: 'tool_calls',
      message: { content: null, tool_calls: [call('weather', { city: '5', days: 5 })] },
    });
    expect(engine.calls[0]?.prompt).toEqual({ messages: HELLO, tools });
  });

  test('text before, between and after calls stays text; two calls are two', async () => {
    const server = await serve(
      scripted(saying('Let me', ` look. <to${CALL.slice(0, 5)}`, `${CALL}\n`, CALL, '\nDone.')),
    );
    const chunks = await chunksOf(server, { messages: HELLO, tools });
    const deltas = chunks.flatMap(({ choices }) => choices).map(({ delta }) => delta);
    expect(deltas.map((delta) => delta.content ?? '').join('')).toBe('Let me look. <to<tool\nDone.');
    expect(deltas.flatMap((delta) => delta.tool_calls ?? [])).toEqual([
      { index: 0, ...call('weather', { city: '5', days: 5 }) },
      { index: 1, ...call('weather', { city: '5', days: 5 }) },
    ]);
    expect(chunks.at(-1).choices[0].finish_reason).toBe('tool_calls');
  });

  test.each([
    '<tool_call>\nnonsense\n</tool_call>',
    '<tool_call>',
    'a < b <tool',
    '<tool_call>{"name": 5}</tool_call>x',
  ])('%j is no call, and nothing of it is lost', async (text) => {
    const server = await serve(scripted(saying(...text)));
    const reply = await clientOf(server).chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    expect(reply.choices[0]).toMatchObject({ finish_reason: 'stop', message: { content: text } });
  });

  test('a whole round goes through the client: the call, its answer and the reply to it', async () => {
    const engine = scripted(saying(CALL));
    const client = clientOf(await serve(engine));
    const first = await client.chat.completions.create({ model: 'tiny', messages: HELLO, tools });
    const message = first.choices[0]?.message as OpenAI.ChatCompletionMessage;
    const answered = { role: 'tool' as const, tool_call_id: message.tool_calls?.[0]?.id as string, content: 'sunny' };
    await client.chat.completions.create({ model: 'tiny', messages: [...HELLO, message, answered], tools });
    expect(engine.calls[1]?.messages).toEqual([
      ...HELLO,
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ ...message.tool_calls?.[0], function: { name: 'weather', arguments: { city: '5', days: 5 } } }],
      },
      answered,
    ]);
  });

  test('with tool_choice none the model hears of no tools; one call at a time is one', async () => {
    const engine = scripted(saying(CALL));
    const server = await serve(engine);
    const none = (await (
      await post(server, { messages: HELLO, tools, tool_choice: 'none' })
    ).json()) as OpenAI.ChatCompletion;
    expect(none.choices[0]?.message).toMatchObject({ content: CALL });
    expect(engine.calls[0]?.prompt).toMatchObject({ tools: [] });
    await post(server, { messages: HELLO, tools, parallel_tool_calls: false });
    expect(engine.calls[1]?.options.stop).toEqual(['</tool_call>']);
  });
});

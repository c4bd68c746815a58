// Prompts that fit into the context, but not with the output budget beside them.

import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, failure, NEVER, REQUEST, reply } from '../../support/endpoint.js';
import type { Handler } from '../../support/loopback-server.js';

afterEach(closeAll);

describe('--fit-max-tokens', () => {
  const context = 40_000;
  const promptTokens = 8_000;
  /** A server with a context window; tells the prompt's length exactly, or as a bound only. */
  const window =
    (exact: boolean): Handler =>
    ({ body }) => {
      if (promptTokens + body.max_tokens <= context) {
        return { content: 'fits', usage: { prompt_tokens: promptTokens, completion_tokens: 1 } };
      }
      const message = exact
        ? `This model's maximum context length is ${context} tokens. However, you requested ${promptTokens + body.max_tokens} tokens (${promptTokens} in the messages, ${body.max_tokens} in the completion).`
        : `This model's maximum context length is ${context} tokens. However, you requested ${body.max_tokens} output tokens and your prompt contains at least ${context - body.max_tokens + 1} input tokens`;
      return { status: 400, body: { error: { message, type: 'BadRequestError', code: 400 } } };
    };

  it('asks once more with what the context leaves', async () => {
    const { attempt, server } = await ask(window(true), { fitMaxTokens: true });
    expect(reply(attempt)).toMatchObject({ content: 'fits', fittedMaxTokens: context - promptTokens - 16 });
    expect(server.count).toBe(2);
  });

  it('has the prompt counted if the server reports only a bound', async () => {
    const { attempt, server } = await ask(window(false), { fitMaxTokens: true });
    expect(reply(attempt)).toMatchObject({
      content: 'fits',
      fittedMaxTokens: context - promptTokens - 16,
      usage: { promptTokens: 2 * promptTokens, completionTokens: 2 },
    });
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([32768, 1, context - promptTokens - 16]);
  });

  it('leaves an overflow a failure of the row where nothing fits', async () => {
    const message = 'The input (61709 tokens) is longer than the model’s context length (40960 tokens).'.replace(
      '’',
      "'",
    );
    const { attempt, server } = await ask([{ status: 400, body: { message } }], { fitMaxTokens: true });
    expect(failure(attempt)).toMatchObject({ class: 'context-overflow' });
    expect(failure(attempt).stop).toBeUndefined();
    expect(server.count).toBe(1);
  });

  it('is off unless asked for: the row fails, and why is said once, with what to change', async () => {
    const { attempt, server, notices, endpoint } = await ask(window(true));
    expect(failure(attempt)).toMatchObject({
      class: 'context-overflow',
      reason: expect.stringMatching(/^the prompt fits into the context, but not with --max-tokens 32768: /),
    });
    expect(failure(attempt).stop).toBeUndefined();
    expect(server.count).toBe(1);
    await endpoint.call(REQUEST, 0, NEVER);
    expect(notices).toEqual([
      expect.stringMatching(
        /^127.*context of 40,000 tokens, but not with --max-tokens 32768.*--fit-max-tokens.*lower --max-tokens/,
      ),
    ]);
  });

  it('being off, a prompt that is not counted is asked for by one token, so that it is known what overflows', async () => {
    const { attempt, server } = await ask(window(false));
    expect(failure(attempt).reason).toContain('the prompt fits into the context');
    expect(server.requests.map(({ body }) => body.max_tokens)).toEqual([32768, 1]);
  });

  it('cannot help a prompt that leaves no room: said once, as the server’s context and no failure of the model', async () => {
    const message = "The input (61709 tokens) is longer than the model's context length (40960 tokens).";
    const { notices, endpoint, attempt } = await ask([{ status: 400, body: { message } }]);
    await endpoint.call(REQUEST, 0, NEVER);
    expect(failure(attempt).reason).not.toContain('the prompt fits');
    expect(notices).toEqual([
      expect.stringMatching(
        /a prompt of 61,709 tokens leaves no room .* context of 40,960 tokens: such rows are missing/,
      ),
    ]);
  });

  it('takes a passing failure of the count for one of the call', async () => {
    const overflow = window(false);
    const { attempt } = await ask((request) => (request.body.max_tokens === 1 ? { status: 503 } : overflow(request)), {
      fitMaxTokens: true,
    });
    expect(failure(attempt).class).toBe('transient');
  });
});

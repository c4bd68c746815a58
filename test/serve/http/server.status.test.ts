// The list of models, and metrics as Prometheus reads them.

import { describe, expect, test } from 'vitest';
import type { RunningServer } from '../../../src/serve/http/server.js';
import { clientOf, FACTS, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

describe('models', () => {
  test('the list reports what scores depend on', async () => {
    const client = clientOf(await serve(scripted(REPLY), { aliases: ['default'] }));
    const { data } = await client.models.list();
    expect(data).toMatchObject([
      { id: 'tiny', object: 'model', max_model_len: 2048, agentworldbench: FACTS },
      { id: 'default', root: 'tiny', agentworldbench: FACTS },
    ]);
  });

  test('a request without a model gets the only one', async () => {
    const response = await post(await serve(scripted(REPLY)), { messages: HELLO });
    expect([response.status, ((await response.json()) as { model: string }).model]).toEqual([200, 'tiny']);
  });

  test('another name is not found, and the served ones are named', async () => {
    const client = clientOf(await serve(scripted(REPLY), { aliases: ['default'] }));
    const asked = client.chat.completions.create({ model: 'huge', messages: HELLO });
    await expect(asked).rejects.toMatchObject({ status: 404, code: 'model_not_found', param: 'model' });
    await expect(asked).rejects.toThrow("'tiny', 'default'");
    const reply = await client.chat.completions.create({ model: 'default', messages: HELLO });
    expect(reply.model).toBe('tiny');
  });
});

describe('metrics', () => {
  test('metrics report requests by path and status, tokens, slots and the queue', async () => {
    const server = await serve(scripted(REPLY));
    await (await post(server, { messages: HELLO })).text();
    await (await post(server, { messages: HELLO, stream: true })).text();
    await (await post(server, { messages: 5 })).text();
    await fetch(`${server.url}/a"b\n`);
    const { type, families } = await scrape(server);
    expect(type).toBe('text/plain; version=0.0.4; charset=utf-8');
    const value = (name: string, labels = '') => families.get(name)?.samples.get(labels);
    expect(value('awb_serve_requests_total', 'path="/v1/chat/completions",status="200"')).toBe(2);
    expect(value('awb_serve_requests_total', 'path="/v1/chat/completions",status="400"')).toBe(1);
    expect(value('awb_serve_requests_total', 'path="other",status="404"')).toBe(1);
    expect(value('awb_serve_prompt_tokens_total')).toBe(40);
    expect(value('awb_serve_cached_tokens_total')).toBe(24);
    expect(value('awb_serve_completion_tokens_total')).toBe(14);
    expect(value('awb_serve_reasoning_tokens_total')).toBe(6);
    expect(value('awb_serve_slots')).toBe(2);
    expect(value('awb_serve_requests_waiting')).toBe(0);
    expect(families.get('awb_serve_request_duration_seconds')?.type).toBe('summary');
  });

  test('with a key, metrics need it', async () => {
    const server = await serve(scripted(REPLY), { apiKey: 'sesame' });
    expect((await fetch(`${server.url}/metrics`)).status).toBe(401);
  });

  /** Reads the text format as strictly as Prometheus does. */
  async function scrape(server: RunningServer) {
    const response = await fetch(`${server.url}/metrics`);
    const text = await response.text();
    expect(text).toMatch(/\n$/);
    const families = new Map<string, { type: string; samples: Map<string, number> }>();
    let current = '';
    for (const line of text.trimEnd().split('\n')) {
      const [, kind, name, rest] = /^# (TYPE) ([a-zA-Z_:][a-zA-Z0-9_:]*) (.+)$/.exec(line) ?? [];
      if (kind === 'TYPE') {
        expect(families.has(name as string)).toBe(false);
        current = name as string;
        expect(['counter', 'gauge', 'summary']).toContain(rest);
        expect((name as string).endsWith('_total')).toBe(rest === 'counter');
        families.set(current, { type: rest as string, samples: new Map() });
      } else {
        const sample =
          /^([a-z_]+?)(?:\{((?:[a-z_]+="(?:[^"\\\n]|\\["\\n])*",?)*)\})? (\d+(?:\.\d+)?(?:e[-+]\d+)?)$/.exec(line);
        expect(sample, line).not.toBeNull();
        const [, full = '', labels = '', number] = sample as RegExpExecArray;
        expect([current, `${current}_sum`, `${current}_count`]).toContain(full);
        const { samples } = families.get(current) as { samples: Map<string, number> };
        const key = full === current ? labels : `${full.slice(current.length)} ${labels}`;
        expect(samples.has(key)).toBe(false);
        samples.set(key, Number(number));
      }
    }
    return { type: response.headers.get('content-type'), families };
  }
});

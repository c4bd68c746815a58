// A failure's reason: one line, the same in every run, without secrets.

import { describe, expect, it } from 'vitest';
import { openRedaction } from '../../../src/core/redaction.js';
import { tidy } from '../../../src/model/http/wording.js';
import { classified, http, openAi } from '../../support/failures.js';

describe('a reason', () => {
  it.each([
    [
      'request ids',
      'failed. (request id: 20240523152007160608893pVIxONYS)',
      'failed. (request id: 20250101000000000000001abcdefgh)',
    ],
    ['OpenAI’s request ids', 'Include req_0a1b2c3d4e5f in your mail', 'Include req_9f8e7d6c5b4a in your mail'],
    ['UUIDs', 'deab386b-2562-9a7b-b8fa-0ba9385a5c28 gone', 'deab386b-2562-9a7b-b8fa-0ba9385a5c29 gone'],
    ['times', 'at 2026-11-02T12:00:00Z after 31.2 s', 'at 2026-11-02T12:00:41Z after 35 s'],
    ['waits', 'Please try again in 6m0.5s.', 'Please try again in 20ms.'],
  ])('is the same whatever the %s', (_name, one, other) => {
    const reasonOf = (message: string) => classified(http(500, openAi(message))).reason;
    expect(reasonOf(one)).toBe(reasonOf(other));
  });

  it('is the same however much of a rate limit is used', () => {
    const reasonOf = (used: string) =>
      classified(http(429, openAi(`Rate limit reached: Limit 10000, Used ${used}, Requested 2000.`))).reason;
    expect(reasonOf('9000')).toBe(reasonOf('10,500.5'));
  });

  it.each([
    'tiny-17d553682c66e914',
    'org/tiny-17d553682c66e914',
    'runs/17d553682c66e914.gguf',
    'step-30s',
    'wm-5minutes',
  ])('keeps the name of a model: %s', (name) => {
    for (const said of [`this server has '${name}', "${name}"`, `${name} is loading. Try ${name}.`]) {
      expect(classified(http(500, openAi(said))).reason).toContain(said);
      expect(classified(http(429, openAi(said))).reason).toContain(said);
    }
  });

  it.each(['17d553682c66e914', 'deab386b-2562-9a7b-b8fa-0ba9385a5c28', 'gen-3-alpha-turbo', '30s'])(
    'keeps the name of the model that was asked for, and of those that a server offers in its place: %s',
    (model) => {
      const said = `no replica of ${model} is free`;
      expect(classified(http(500, openAi(said)), { model }).reason).toContain(said);
      const offered = `The model wm does not exist; there are ${model} and b`;
      expect(classified(http(404, openAi(offered))).reason).toContain(offered);
    },
  );

  it('is one line without control sequences, cut to length', () => {
    const { reason } = classified(http(500, `a\u001b]52;c;AAAA\u0007b\r\nc\u202e ${'x'.repeat(9000)}`));
    expect(reason).toContain('ab c x');
    expect(reason).not.toMatch(/[\u0000-\u001f\u202e]/);
    expect(reason.length).toBeLessThan(400);
  });

  it('gives a web page’s title, not its markup', () => {
    const page = '<!DOCTYPE html><html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>';
    expect(classified(http(502, page)).reason).toBe('the server failed (HTTP 502: a web page, 502 Bad Gateway)');
  });

  it('holds no key, in whatever form it is echoed', () => {
    const secret = 'sk-p/"roj+key';
    const redact = openRedaction([secret]);
    for (const echo of [secret, JSON.stringify(secret), encodeURIComponent(secret), btoa(secret)]) {
      const failure = classified(http(401, `bad key ${echo}`), { redact });
      expect(failure.reason).toContain('[redacted]');
      expect(failure.reason + failure.stop?.message).not.toContain('roj');
    }
  });

  it('holds no half of a key where it is cut, and none that invisible characters part', () => {
    const secret = 'sk-proj-0123456789-half';
    const redact = openRedaction([secret]);
    const parted = `${secret.slice(0, 9)}\u200b\u001b[0m${secret.slice(9)}`;
    for (const key of [secret, parted]) {
      const { reason } = classified(http(500, JSON.stringify({ odd: '!'.repeat(280), key })), { redact });
      expect(reason).not.toContain(secret.slice(0, 9));
      expect(tidy(`bad key ${key}`, redact)).toBe('bad key [redacted]');
    }
  });

  it('holds no half-masked key either', () => {
    expect(tidy('Incorrect API key provided: sk-proj-****wxyz. Go', openRedaction([]))).toBe(
      'Incorrect API key provided: [redacted] Go',
    );
  });
});

// The wire to a server, where it cannot even be opened.

import { expect, it } from 'vitest';
import { OpenAiEndpoint } from '../../src/model/endpoint.js';
import { failure, NEVER, optionsOf, REQUEST } from '../support/endpoint.js';

it('a transport that cannot be opened fails its calls, and closing it is no further failure', async () => {
  const proxy = { variable: 'HTTP_PROXY', host: 'nowhere', url: 'no address', secrets: [] };
  const endpoint = new OpenAiEndpoint({ ...optionsOf('http://127.0.0.1:9/v1'), proxy });
  expect(failure(await endpoint.call(REQUEST, 0, NEVER)).class).toBe('transient');
  await expect(endpoint.close()).resolves.toBeUndefined();
  await expect(endpoint.close()).resolves.toBeUndefined();
});

it('an endpoint that was never asked is closed without a transport', async () => {
  await expect(new OpenAiEndpoint(optionsOf('http://127.0.0.1:9/v1')).close()).resolves.toBeUndefined();
});

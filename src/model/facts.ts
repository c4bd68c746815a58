// What servers say of the model at /models, before anything is asked.

import { openRedaction } from '../core/redaction.js';
import type { ServerFacts } from './bill.js';
import { KnownModels } from './endpoint/known-models.js';
import { readAddress } from './http/address.js';
import { Wire } from './http/wire.js';
import type { NamedEndpoints } from './http-backend.js';

/**
 * Asks each server for its models, and for nothing else. One that cannot be reached, or has no such list, says nothing.
 * @throws UserError (2) for a base URL or a key that cannot be used
 */
export function serverFacts(named: NamedEndpoints): Promise<ServerFacts[]> {
  const { baseUrls, proxies, apiKey, model } = named;
  return Promise.all(
    baseUrls.map(async (baseUrl, index) => {
      const proxy = proxies[index];
      const address = readAddress(baseUrl, apiKey);
      const wire = new Wire(address, apiKey, proxy);
      try {
        const known = new KnownModels(wire, openRedaction([apiKey, ...address.secrets, ...(proxy?.secrets ?? [])]));
        const [names, context] = await Promise.all([known.names(), known.context(model)]);
        const name = names.find((one) => one === model) ?? (names.length === 1 ? names[0] : undefined);
        return {
          host: address.host,
          ...(name === undefined ? {} : { model: name }),
          ...(context === undefined ? {} : { contextTokens: context.tokens, refusesBudgets: context.refusesBudgets }),
        };
      } finally {
        await wire.close();
      }
    }),
  );
}

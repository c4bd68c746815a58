// The bill as a JSON document.

import type { AskedAgain, Bill, Charges, EarlierRuns, Estimated, TokenBasis } from '../../bill.js';
import { budgetDocument } from './budget.js';

/** What is not known is null. Tokens are whole numbers; dollars are not rounded. */
export function billDocument(bill: Bill) {
  const { rows, total, output, time, measuredCache: cache } = bill;
  return {
    schema: 'awb.bill/1',
    kind: bill.kind,
    model: bill.model,
    hosts: bill.hosts,
    rows: { chosen: rows.chosen, done: rows.done, without_call: rows.alone, absent: rows.absent, to_ask: total.rows },
    domains: bill.domains.map(({ domain, ...charges }) => ({ domain, ...chargesDocument(charges) })),
    total: chargesDocument(total),
    tokens_by: tokenBasis(bill.tokens),
    output_by:
      output === undefined ? null : { rows: output.rows, ...runs(output.runs), guessed_domains: output.guessed },
    max_tokens: bill.maxTokens ?? null,
    price: bill.price ?? null,
    time:
      time === undefined
        ? null
        : {
            ...{ seconds: time.seconds, at_least: time.isLeast, by: time.by, per_minute: time.perMinute },
            ...(time.runs === undefined ? {} : runs(time.runs)),
          },
    measured_cache: cache === undefined ? null : { share: cache.share, usd: cache.usd ?? null, ...runs(cache.runs) },
    asked_again: bill.askedAgain === undefined ? null : askedAgainDocument(bill.askedAgain),
    budget: bill.budget === undefined ? null : budgetDocument(bill.budget),
    servers: bill.servers.map(({ host, model, contextTokens }) => ({
      host,
      model: model ?? null,
      context_tokens: contextTokens ?? null,
    })),
    overlong: bill.overlong?.rows ?? [],
    notes: bill.notes,
  };
}

function chargesDocument({ rows, calls, characters, promptTokens, cachedTokens, outputTokens, usd }: Charges) {
  return {
    rows,
    calls,
    characters,
    prompt_tokens: Math.round(promptTokens),
    cached_tokens: Math.round(cachedTokens),
    output_tokens: estimatedDocument(outputTokens, Math.round),
    usd: usd === undefined ? null : estimatedDocument(usd.plain),
    usd_cached: usd === undefined ? null : estimatedDocument(usd.cached),
  };
}

function estimatedDocument({ expected, atLeast, atMost }: Estimated, rounded = (value: number) => value) {
  const known = (value: number | undefined) => (value === undefined ? null : rounded(value));
  return { expected: known(expected), at_least: rounded(atLeast), at_most: known(atMost) };
}

function tokenBasis(basis: TokenBasis) {
  switch (basis.by) {
    case 'tokenizer':
      return { by: basis.by, file: basis.file };
    case 'measured':
      return {
        by: basis.by,
        characters_per_token: basis.charactersPerToken,
        calls: basis.calls,
        ...runs(basis.runs),
      };
    case 'guess':
      return { by: basis.by, characters_per_token: basis.charactersPerToken };
    default:
      return basis satisfies never;
  }
}

function askedAgainDocument({ times, calls, promptTokens, usd, ...from }: AskedAgain) {
  const figures = { calls: Math.round(calls), prompt_tokens: Math.round(promptTokens), usd: usd ?? null };
  return { times, ...figures, ...runs(from.runs) };
}

function runs({ like, names, models }: EarlierRuns) {
  return { runs: names, models, like };
}

// The bill as a JSON document.

import type {
  AskedAgain,
  Bill,
  BillBudget,
  BudgetShare,
  Charges,
  Estimated,
  OutputBasis,
  TokenBasis,
} from '../../bill.js';

/** What is not known is null. Tokens are whole numbers; dollars are not rounded. */
export function billDocument(bill: Bill) {
  const { rows, total, time, measuredCache: cache } = bill;
  const from = { runs: bill.runs.names, models: bill.runs.models };
  return {
    schema: 'awb.bill/1',
    kind: bill.kind,
    model: bill.model,
    hosts: bill.hosts,
    rows: { chosen: rows.chosen, done: rows.done, without_call: rows.alone, absent: rows.absent, to_ask: total.rows },
    domains: bill.domains.map(({ domain, ...charges }) => ({ domain, ...chargesDocument(charges) })),
    total: chargesDocument(total),
    tokens_by: tokenBasis(bill.tokens, from),
    output_by: outputBasis(bill.output, from),
    max_tokens: bill.maxTokens ?? null,
    price: bill.price ?? null,
    time:
      time === undefined
        ? null
        : {
            ...{ seconds: time.seconds, at_least: time.isLeast, by: time.by, per_minute: time.perMinute },
            ...(time.by === 'measured' && from),
          },
    measured_cache: cache === undefined ? null : { share: cache.share, usd: cache.usd ?? null, ...from },
    asked_again: bill.askedAgain === undefined ? null : { ...askedAgainDocument(bill.askedAgain), ...from },
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
  const most = atMost === undefined ? null : rounded(atMost);
  return { expected: rounded(expected), at_least: rounded(atLeast), at_most: most };
}

function tokenBasis(basis: TokenBasis, from: object) {
  switch (basis.by) {
    case 'tokenizer':
      return { by: basis.by, file: basis.file };
    case 'measured':
      return { by: basis.by, characters_per_token: basis.charactersPerToken, calls: basis.calls, ...from };
    case 'guess':
      return { by: basis.by, characters_per_token: basis.charactersPerToken };
    default:
      return basis satisfies never;
  }
}

function outputBasis(basis: OutputBasis, from: object) {
  switch (basis.by) {
    case 'measured':
      return { by: basis.by, rows: basis.rows, ...from, guessed_domains: basis.guessed };
    case 'truth':
      return { by: basis.by };
    case 'guess':
      return { by: basis.by, tokens_per_call: basis.tokensPerCall };
    default:
      return basis satisfies never;
  }
}

function askedAgainDocument({ times, calls, promptTokens, usd }: AskedAgain) {
  return { times, calls: Math.round(calls), prompt_tokens: Math.round(promptTokens), usd: usd ?? null };
}

/** `covers` is the share of the bill that the rest pays, 0 to 1. */
function budgetDocument({ isSpent, shares }: BillBudget) {
  const documentOf = (unit: BudgetShare['unit']) => {
    const share = shares.find((one) => one.unit === unit);
    return share === undefined
      ? null
      : { budget: share.budget, spent: share.spent, covers: Math.min(1, coveredBy(share)) };
  };
  return { is_spent: isSpent, usd: documentOf('usd'), tokens: documentOf('tokens') };
}

/** How much of the bill the rest of the budget pays: 1 and above for all of it. */
export function coveredBy({ budget, spent, need }: BudgetShare): number {
  return need === 0 ? Number.POSITIVE_INFINITY : Math.max(0, budget - spent) / need;
}

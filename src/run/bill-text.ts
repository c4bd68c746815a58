// The bill for a terminal: a table by domain, and below it what each figure comes from.

import { domainName } from '../core/domains.js';
import { counted } from '../core/figures.js';
import { dollars } from '../core/money.js';
import type { Price } from '../core/price.js';
import { oneLine, printable } from '../core/printable.js';
import { asksWorldModel } from '../core/run-kind.js';
import type { Table } from '../core/table.js';
import { type Look, terminal, wrapped } from '../core/terminal.js';
import type { Bill, BillDocument, BudgetShare, Charges, EarlierRuns, TimeBasis } from '../model/bill.js';

const UNKNOWN = 'unknown';
const MOST_NAMES = 3;

/** What the bill stands for: for the asking itself, or ahead of it. */
type Purpose = 'instead' | 'ahead';

/** The bill, ending in a line feed. */
export function billText(bill: Bill, look: Look, purpose: Purpose = 'instead'): string {
  const { document } = bill;
  const lines = document.total.rows === 0 ? [NO_CALL] : sourceLines(document);
  const { summary, lines: longest = [] } = bill.overlong ?? {};
  const notes = [
    ...(summary === undefined ? [] : [noteOf(summary), ...longest.map((line) => printable(line))]),
    ...document.notes.map(noteOf),
  ];
  // A run that is done is done, whatever it has spent.
  const budget = document.rows.chosen === document.rows.done ? [] : budgetLines(document);
  const blocks = [
    paragraphs([titleOf(bill)], look),
    ...(document.total.rows === 0 ? [] : [terminal(billTable(document), look)]),
    paragraphs([...lines, ...budget, ...notes, ...(purpose === 'instead' ? [lastWords(document)] : [])], look),
  ];
  return blocks.join('\n');
}

function noteOf(text: string): string {
  return `Note: ${oneLine(text, 2_000)}`;
}

const NO_CALL = 'No model has to be asked.';

/** What the command comes to without --dry-run. */
function lastWords({ rows, total, budget }: BillDocument): string {
  const same = 'Nothing was asked or written. The same command without --dry-run';
  if (rows.chosen === rows.done) return `${same} asks nobody either: nothing is left to ask.`;
  if (budget?.is_spent) return `${same} stops at once (exit code 75); with a larger budget it goes on.`;
  return total.rows === 0 ? `${same} does the rest without a call.` : `${same} begins.`;
}

function paragraphs(lines: readonly string[], { columns }: Look): string {
  return lines.flatMap((line) => wrapped(line, columns, 2).map((part) => `${part}\n`)).join('');
}

function titleOf({ document: { kind, model, hosts, rows, total }, asksAgent }: Bill): string {
  const role = asksWorldModel(kind) ? 'World model' : asksAgent ? 'Agent' : 'Judge';
  const who = model === '' ? 'Without a model' : `${role} ${shown(model)}`;
  const where = hosts.length === 0 ? '' : ` at ${hosts.map(shown).join(', ')}`;
  const apart = [
    [rows.done, 'done'],
    [rows.without_call, 'without a call'],
    [rows.absent, 'that cannot be asked'],
  ] as const;
  const said = apart.flatMap(([count, what]) => (count > 0 ? [`${whole(count)} ${what}`] : []));
  const noun = asksWorldModel(kind) ? 'row' : 'judgement';
  const chosen = `${whole(rows.chosen + rows.absent)} ${noun}${rows.chosen + rows.absent === 1 ? '' : 's'}`;
  return `${who}${where}: ${[chosen, ...said].join(', ')}; ${whole(total.rows)} to ask`;
}

function billTable({ domains, total, time }: BillDocument): Table {
  const hasCost = total.usd !== null;
  const column = (heading: string, short = heading) => ({ heading, short, align: 'right' as const });
  const row = (name: string, charges: Charges) => [
    name,
    whole(charges.rows),
    whole(charges.calls),
    amount(charges.prompt_tokens),
    amount(charges.cached_tokens),
    amount(charges.output_tokens.expected),
    ...(hasCost ? [charges.usd, charges.usd_cached].map((usd) => dollars(usd?.expected ?? 0)) : [UNKNOWN]),
    time === null ? UNKNOWN : duration(time.seconds * shareOf(charges, total, time)),
  ];
  return {
    columns: [
      { heading: 'Domain', short: 'Domain', align: 'left' },
      ...[column('Rows'), column('Calls'), column('Prompt'), column('Cached'), column('Output')],
      ...(hasCost ? [column('Cost'), column('With cache', 'Cached')] : [column('Cost')]),
      column('Time'),
    ],
    groups: [
      domains.map((charges) => row(domainName(charges.domain), charges)),
      ...(domains.length > 1 ? [[row('All', total)]] : []),
    ],
    footnotes: [],
  };
}

/** A domain's share of the time is that of whatever limits it. */
function shareOf(charges: Charges, total: Charges, { by }: TimeBasis): number {
  const size = ({ calls, prompt_tokens, output_tokens }: Charges) =>
    by === 'tpm' ? prompt_tokens + output_tokens.expected : calls;
  return size(total) === 0 ? 0 : size(charges) / size(total);
}

function sourceLines(bill: BillDocument): string[] {
  const { total, servers } = bill;
  const share = total.prompt_tokens === 0 ? 0 : total.cached_tokens / total.prompt_tokens;
  const bases = [bill.tokens_by, bill.output_by, bill.time, bill.measured_cache];
  const runs = new Set(bases.flatMap((basis) => (basis !== null && 'runs' in basis ? (basis.runs ?? []) : [])));
  return [
    `Prompt: ${whole(total.prompt_tokens)} tokens of ${whole(total.characters)} characters; ${tokenSource(bill)}.`,
    `Cached: ${percent(share)} of that, if a prefix cache serves what each prompt shares with the one before it.${measuredCache(bill)}`,
    outputLine(bill),
    ...costLines(bill),
    ...againLine(bill),
    timeLine(bill),
    ...(runs.size === 0 ? [] : [`Earlier runs: ${listed([...runs])}.`]),
    ...servers.flatMap(({ host, context_tokens: tokens }) =>
      tokens === null ? [] : [`Context: ${shown(host)} says ${whole(tokens)} tokens.`],
    ),
  ];
}

function tokenSource({ tokens_by: basis }: BillDocument): string {
  switch (basis.by) {
    case 'tokenizer':
      return `tokenizer ${shown(basis.file)}, without the few tokens that a chat template adds to each message`;
    case 'measured':
      return `characters a token: ${basis.characters_per_token.toFixed(2)}, measured over ${counted(basis.calls, 'call')} of ${runsText(basis)}`;
    case 'guess':
      return `characters a token: ${basis.characters_per_token}, a guess; --tokenizer FILE counts`;
    default:
      return basis satisfies never;
  }
}

function measuredCache({ measured_cache: cache }: BillDocument): string {
  if (cache === null) return '';
  const cost = cache.usd === null ? '' : `, which makes ${dollars(cache.usd)}`;
  return ` In ${runsText(cache)} it was ${percent(cache.share)}${cost}.`;
}

function outputLine({ output_by: basis, total, max_tokens }: BillDocument): string {
  const { expected, at_most } = total.output_tokens;
  const most = at_most === null ? '' : `; at most ${whole(at_most)} tokens, --max-tokens ${max_tokens} for each call`;
  const tokens = `Output: ${whole(expected)} tokens`;
  const without = `without thinking${most}. --estimate-from RUN goes by what a run took.`;
  switch (basis.by) {
    case 'measured': {
      const guessed = basis.guessed_domains.map(domainName).join(', ');
      const others = guessed === '' ? '' : `; ${guessed} by the mean of the others`;
      return `${tokens}, thinking included: the mean of ${counted(basis.rows, 'row')} of ${runsText(basis)}${others}${most}.`;
    }
    case 'truth':
      return `${tokens}, as many as the ground truths have, ${without}`;
    case 'guess':
      return `${tokens}, a guess: ${basis.tokens_per_call} for each call, ${without}`;
    default:
      return basis satisfies never;
  }
}

function costLines({ price, total: { usd: plain, usd_cached: cached } }: BillDocument): string[] {
  if (price === null || plain === null || cached === null) return ['Price: unknown; name it with --prices FILE.'];
  const most = plain.at_most === null ? '' : ` At most ${dollars(plain.at_most)}, before calls that are made again.`;
  return [
    `Price: ${priceText(price)}; ${shown(price.source)}, ${shown(price.model)}.`,
    `Cost: ${dollars(plain.expected)}, ${dollars(cached.expected)} with the cache; the prompts alone cost ${dollars(plain.at_least)}, ${dollars(cached.at_least)} with the cache.${most}`,
  ];
}

function againLine({ asked_again: again }: BillDocument): string[] {
  if (again === null) return [];
  const { times, calls, prompt_tokens, usd } = again;
  const cost = usd === null ? '' : ` and ${dollars(usd)} without a cache`;
  return [
    `Asked again: ${runsText(again)} took ${times.toFixed(2)} calls for each of these: verdicts that cannot be read, and rows that failed or changed, are asked for again. With as many again it takes about ${counted(calls, 'call', 'calls', whole)}, ${whole(prompt_tokens)} prompt tokens${cost}.`,
  ];
}

function priceText({ input, cached, output, call }: Price): string {
  const rate = (value: Price['input']) =>
    typeof value === 'number'
      ? `$${value}`
      : `$${value.base} ($${value.tiers.map(({ start, price }) => `${price} above ${whole(start)} tokens`).join(', $')})`;
  return [
    `a million tokens: ${rate(input)} in`,
    ...(cached === undefined ? [] : [`${rate(cached)} cached`]),
    `${rate(output)} out`,
    ...(call === undefined ? [] : [`$${call} a call`]),
  ].join(', ');
}

function timeLine({ time }: BillDocument): string {
  if (time === null) return 'Time: unknown; --rate N says how many calls a minute the server answers.';
  const { per_minute: perMinute } = time;
  const rate = perMinute >= 100 ? whole(perMinute) : String(Number(perMinute.toPrecision(3)));
  const words = {
    rate: () => `${rate} calls a minute (--rate)`,
    measured: () => `${rate} calls a minute, as in ${runsText(time)}`,
    rpm: () => `held to ${rate} calls a minute (--rpm)`,
    tpm: () => `held to ${rate} tokens a minute (--tpm)`,
  };
  return `Time: ${time.at_least ? 'at least ' : ''}${duration(time.seconds)}; ${words[time.by]()}.`;
}

/** `2 earlier runs of wm`; where they lie is said once, below. */
function runsText({ runs = [], models = [] }: Partial<EarlierRuns>): string {
  return `${counted(runs.length, 'earlier run')} of ${listed(models)}`;
}

function listed(names: readonly string[]): string {
  const first = names.slice(0, MOST_NAMES).map(shown);
  return names.length > first.length ? `${first.join(', ')} and ${names.length - first.length} more` : first.join(', ');
}

/** What is spent of a budget, and how far the rest goes. */
function budgetLines({ budget }: BillDocument): string[] {
  const line = (share: BudgetShare, show: (amount: number) => string, unit: string) =>
    `Budget: ${show(share.spent)} of ${show(share.budget)}${unit} is spent; ${restText(share)}.`;
  const { usd = null, tokens = null } = budget ?? {};
  return [...(usd ? [line(usd, dollars, '')] : []), ...(tokens ? [line(tokens, whole, ' tokens')] : [])];
}

function restText({ spent, budget, covers }: BudgetShare): string {
  if (spent >= budget) return 'nothing is left';
  if (covers === 1) return 'the rest is enough for this bill';
  return `the rest ends at ${covers < 0.01 ? 'less than 1 %' : `about ${Math.floor(100 * covers)} %`} of this bill`;
}

function shown(text: string): string {
  return oneLine(text, 120);
}

function percent(share: number): string {
  return `${(100 * share).toFixed(share > 0.995 && share < 1 ? 1 : 0)} %`;
}

function whole(count: number): string {
  return Math.round(count).toLocaleString('en');
}

/** Four digits at most: `9,999`, `412 k`, `73.0 M`. */
function amount(count: number): string {
  if (count < 9_999.5) return whole(count);
  const [unit, size] = count < 999_500 ? ['k', 1e3] : count < 999.5e6 ? ['M', 1e6] : ['G', 1e9];
  const value = count / Number(size);
  return `${value < 99.95 ? value.toFixed(1) : whole(value)} ${unit}`;
}

/** `45 s`, `12 min`, `3 h 20 min`, `2 d 4 h`. */
function duration(seconds: number): string {
  if (seconds < 59.5) return `${Math.ceil(seconds)} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return `${hours} h ${minutes % 60} min`;
  return `${Math.floor(hours / 24)} d ${hours % 24} h`;
}

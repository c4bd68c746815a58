// The bill for a terminal: a table by domain, and below it what each figure comes from.

import type { Bill, BudgetShare, Charges, EarlierRuns, TimeBasis } from '../../bill.js';
import { domainName } from '../../domains.js';
import { counted } from '../../figures.js';
import { dollars } from '../../money.js';
import type { Price } from '../../price.js';
import { oneLine, printable } from '../../printable.js';
import { asksWorldModel } from '../../run-kind.js';
import type { Table } from '../table.js';
import { type Look, terminal, wrapped } from '../terminal.js';
import { coveredBy } from './json.js';

const UNKNOWN = 'unknown';
const MOST_NAMES = 3;

/** What the bill stands for: for the asking itself, or ahead of it. */
type Purpose = 'instead' | 'ahead';

/** The bill, ending in a line feed. */
export function billText(bill: Bill, look: Look, purpose: Purpose = 'instead'): string {
  const lines = bill.total.rows === 0 ? [NO_CALL] : sourceLines(bill);
  const { summary, lines: longest = [] } = bill.overlong ?? {};
  const notes = [
    ...(summary === undefined ? [] : [noteOf(summary), ...longest.map((line) => printable(line))]),
    ...bill.notes.map(noteOf),
  ];
  // A run that is done is done, whatever it has spent.
  const budget =
    bill.budget === undefined || bill.rows.chosen === bill.rows.done ? [] : bill.budget.shares.map(budgetLine);
  const blocks = [
    paragraphs([titleOf(bill)], look),
    ...(bill.total.rows === 0 ? [] : [terminal(billTable(bill), look)]),
    paragraphs([...lines, ...budget, ...notes, ...(purpose === 'instead' ? [lastWords(bill)] : [])], look),
  ];
  return blocks.join('\n');
}

function noteOf(text: string): string {
  return `Note: ${oneLine(text, 2_000)}`;
}

const NO_CALL = 'No model has to be asked.';

/** What the command comes to without --dry-run. */
function lastWords({ rows, total, budget }: Bill): string {
  const same = 'Nothing was asked or written. The same command without --dry-run';
  if (rows.chosen === rows.done) return `${same} asks nobody either: nothing is left to ask.`;
  if (budget?.isSpent) return `${same} stops at once (exit code 75); with a larger budget it goes on.`;
  return total.rows === 0 ? `${same} does the rest without a call.` : `${same} begins.`;
}

function paragraphs(lines: readonly string[], { columns }: Look): string {
  return lines.flatMap((line) => wrapped(line, columns, 2).map((part) => `${part}\n`)).join('');
}

function titleOf({ kind, asksAgent, model, hosts, rows, total }: Bill): string {
  const role = asksWorldModel(kind) ? 'World model' : asksAgent ? 'Agent' : 'Judge';
  const who = model === '' ? 'Without a model' : `${role} ${shown(model)}`;
  const where = hosts.length === 0 ? '' : ` at ${hosts.map(shown).join(', ')}`;
  const apart = [
    [rows.done, 'done'],
    [rows.alone, 'without a call'],
    [rows.absent, 'that cannot be asked'],
  ] as const;
  const said = apart.flatMap(([count, what]) => (count > 0 ? [`${whole(count)} ${what}`] : []));
  const noun = asksWorldModel(kind) ? 'row' : 'judgement';
  const chosen = `${whole(rows.chosen + rows.absent)} ${noun}${rows.chosen + rows.absent === 1 ? '' : 's'}`;
  return `${who}${where}: ${[chosen, ...said].join(', ')}; ${whole(total.rows)} to ask`;
}

function billTable({ domains, total, time }: Bill): Table {
  const hasCost = total.usd !== undefined;
  const column = (heading: string, short = heading) => ({ heading, short, align: 'right' as const });
  const row = (name: string, charges: Charges) => [
    name,
    whole(charges.rows),
    whole(charges.calls),
    amount(charges.promptTokens),
    amount(charges.cachedTokens),
    amount(charges.outputTokens.expected),
    ...(charges.usd === undefined
      ? [UNKNOWN]
      : [charges.usd.plain, charges.usd.cached].map((usd) => dollars(usd.expected))),
    time === undefined ? UNKNOWN : duration(time.seconds * shareOf(charges, total, time)),
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
  const size = ({ calls, promptTokens, outputTokens }: Charges) =>
    by === 'tpm' ? promptTokens + outputTokens.expected : calls;
  return size(total) === 0 ? 0 : size(charges) / size(total);
}

function sourceLines(bill: Bill): string[] {
  const { total, servers, runs } = bill;
  const share = total.promptTokens === 0 ? 0 : total.cachedTokens / total.promptTokens;
  return [
    `Prompt: ${whole(total.promptTokens)} tokens of ${whole(total.characters)} characters; ${tokenSource(bill)}.`,
    `Cached: ${percent(share)} of that, if a prefix cache serves what each prompt shares with the one before it.${measuredCache(bill)}`,
    outputLine(bill),
    ...costLines(bill),
    ...againLine(bill),
    timeLine(bill),
    ...(runs.names.length === 0 ? [] : [`Earlier runs: ${listed(runs.names)}.`]),
    ...servers.flatMap(({ host, contextTokens }) =>
      contextTokens === undefined ? [] : [`Context: ${shown(host)} says ${whole(contextTokens)} tokens.`],
    ),
  ];
}

function tokenSource({ tokens, runs }: Bill): string {
  switch (tokens.by) {
    case 'tokenizer':
      return `tokenizer ${shown(tokens.file)}, without the few tokens that a chat template adds to each message`;
    case 'measured':
      return `characters a token: ${tokens.charactersPerToken.toFixed(2)}, measured over ${counted(tokens.calls, 'call')} of ${runsText(runs)}`;
    case 'guess':
      return `characters a token: ${tokens.charactersPerToken}, a guess; --tokenizer FILE counts`;
    default:
      return tokens satisfies never;
  }
}

function measuredCache({ measuredCache: cache, runs }: Bill): string {
  if (cache === undefined) return '';
  const cost = cache.usd === undefined ? '' : `, which makes ${dollars(cache.usd)}`;
  return ` In ${runsText(runs)} it was ${percent(cache.share)}${cost}.`;
}

function outputLine({ output, total, maxTokens, runs }: Bill): string {
  const { expected, atMost } = total.outputTokens;
  const most = atMost === undefined ? '' : `; at most ${whole(atMost)} tokens, --max-tokens ${maxTokens} for each call`;
  const tokens = `Output: ${whole(expected)} tokens`;
  const without = `without thinking${most}. --estimate-from RUN goes by what a run took.`;
  switch (output.by) {
    case 'measured': {
      const others =
        output.guessed.length === 0 ? '' : `; ${output.guessed.map(domainName).join(', ')} by the mean of the others`;
      return `${tokens}, thinking included: the mean of ${counted(output.rows, 'row')} of ${runsText(runs)}${others}${most}.`;
    }
    case 'truth':
      return `${tokens}, as many as the ground truths have, ${without}`;
    case 'guess':
      return `${tokens}, a guess: ${output.tokensPerCall} for each call, ${without}`;
    default:
      return output satisfies never;
  }
}

function costLines({ price, total: { usd } }: Bill): string[] {
  if (price === undefined || usd === undefined) return ['Price: unknown; name it with --prices FILE.'];
  const { plain, cached } = usd;
  const most = plain.atMost === undefined ? '' : ` At most ${dollars(plain.atMost)}, before calls that are made again.`;
  return [
    `Price: ${priceText(price)}; ${shown(price.source)}, ${shown(price.model)}.`,
    `Cost: ${dollars(plain.expected)}, ${dollars(cached.expected)} with the cache; the prompts alone cost ${dollars(plain.atLeast)}, ${dollars(cached.atLeast)} with the cache.${most}`,
  ];
}

function againLine({ askedAgain: again, runs }: Bill): string[] {
  if (again === undefined) return [];
  const { times, calls, promptTokens, usd } = again;
  const cost = usd === undefined ? '' : ` and ${dollars(usd)} without a cache`;
  return [
    `Asked again: ${runsText(runs)} took ${times.toFixed(2)} calls for each of these: verdicts that cannot be read, and rows that failed or changed, are asked for again. With as many again it takes about ${counted(calls, 'call', 'calls', whole)}, ${whole(promptTokens)} prompt tokens${cost}.`,
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

function timeLine({ time, runs }: Bill): string {
  if (time === undefined) return 'Time: unknown; --rate N says how many calls a minute the server answers.';
  const words = {
    rate: () => `${rate(time)} calls a minute (--rate)`,
    measured: () => `${rate(time)} calls a minute, as in ${runsText(runs)}`,
    rpm: () => `held to ${rate(time)} calls a minute (--rpm)`,
    tpm: () => `held to ${rate(time)} tokens a minute (--tpm)`,
  };
  return `Time: ${time.isLeast ? 'at least ' : ''}${duration(time.seconds)}; ${words[time.by]()}.`;
}

function rate({ perMinute }: TimeBasis): string {
  return perMinute >= 100 ? whole(perMinute) : String(Number(perMinute.toPrecision(3)));
}

/** `2 earlier runs of wm`; where they lie is said once, below. */
function runsText({ names, models }: EarlierRuns): string {
  return `${counted(names.length, 'earlier run')} of ${listed(models)}`;
}

function listed(names: readonly string[]): string {
  const first = names.slice(0, MOST_NAMES).map(shown);
  return names.length > first.length ? `${first.join(', ')} and ${names.length - first.length} more` : first.join(', ');
}

/** What is spent of a budget, and how far the rest goes. */
function budgetLine(share: BudgetShare): string {
  const { unit, budget, spent } = share;
  const figure = (value: number) => (unit === 'usd' ? dollars(value) : whole(value));
  const of = `${figure(spent)} of ${figure(budget)}${unit === 'usd' ? '' : ' tokens'}`;
  return `Budget: ${of} is spent; ${restText(share)}.`;
}

function restText(share: BudgetShare): string {
  if (share.spent >= share.budget) return 'nothing is left';
  const covered = coveredBy(share);
  if (covered >= 1) return 'the rest is enough for this bill';
  return `the rest ends at ${covered < 0.01 ? 'less than 1 %' : `about ${Math.floor(100 * covered)} %`} of this bill`;
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

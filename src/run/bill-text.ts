// The bill for people: a table by domain, and below it what each figure comes from.

import type { Price } from '../core/costs.js';
import { domainName } from '../core/domains.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { asksWorldModel } from '../core/identity.js';
import { counted, dollars, duration, grouped, oneLine, printable } from '../core/printable.js';
import type { Table } from '../core/table.js';
import { type Look, lookOf, terminal, wrapped } from '../core/terminal.js';
import { type Bill, type BillDocument, type Charges, chargedBill } from './bill.js';
import type { Stage, StageJob } from './stage-contract.js';

/**
 * `--dry-run`: prints what asking the stage would take. Exit code 0, whatever it costs.
 * @throws UserError: what reading rows and runs throws, 130 or 143 once the user has interrupted.
 */
export async function printBill<J extends StageJob>(stage: Stage<J>): Promise<ExitCode> {
  const { io, settings } = stage;
  const bill = await chargedBill(stage);
  io.stdout.write(settings.json ? `${JSON.stringify(bill.document)}\n` : billText(bill, lookOf(settings, io)));
  return EXIT.done;
}

/** Shows the same on stderr, before the stage is asked; nothing where nothing is left to ask, or the user wants no progress. */
export async function showBill<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings, io } = stage;
  if (settings.quiet) return;
  const bill = await chargedBill(stage);
  if (bill.document.total.rows === 0) return;
  const look = lookOf(settings, { stdout: io.stderr });
  io.stderr.write(`${billText(bill, look, 'ahead')}\n`);
}

const UNKNOWN = 'unknown';
const MOST_NAMES = 3;

/** The bill, ending in a line feed: for the asking itself, or ahead of it. */
export function billText(bill: Bill, look: Look, purpose: 'instead' | 'ahead' = 'instead'): string {
  const { document, overlong } = bill;
  const { rows, total } = document;
  const isNothing = total.rows === 0;
  const lines = [
    ...(isNothing ? ['No model has to be asked.'] : sourceLines(document)),
    // A run that is done is done, whatever it has spent.
    ...(rows.chosen === rows.done ? [] : budgetLines(document)),
    ...(overlong === undefined ? [] : [noteOf(overlong.summary), ...overlong.lines.map((line) => printable(line))]),
    ...document.notes.map(noteOf),
    ...(purpose === 'instead' ? [lastWords(document)] : []),
  ];
  const table = isNothing ? [] : [terminal(billTable(document), look)];
  return [paragraphs([titleOf(bill)], look), ...table, paragraphs(lines, look)].join('\n');
}

function paragraphs(lines: readonly string[], { columns }: Look): string {
  return lines.flatMap((line) => wrapped(line, columns, 2).map((part) => `${part}\n`)).join('');
}

function noteOf(text: string): string {
  return `Note: ${oneLine(text, 2_000)}`;
}

/** What the command comes to without --dry-run. */
function lastWords({ total, budget }: BillDocument): string {
  const same = 'Nothing was asked or written. The same command without --dry-run';
  if (total.rows === 0) return `${same} needs no call either.`;
  if (budget?.is_spent) return `${same} stops at once (exit code 75); with a larger budget it goes on.`;
  return `${same} begins.`;
}

function titleOf({ document: { kind, model, hosts, rows, total }, asksAgent }: Bill): string {
  const isWorldModel = asksWorldModel(kind);
  const role = isWorldModel ? 'World model' : asksAgent ? 'Agent' : 'Judge';
  const who = model === '' ? 'Without a model' : `${role} ${shown(model)}`;
  const where = hosts.length === 0 ? '' : ` at ${hosts.map(shown).join(', ')}`;
  const apart = [
    [rows.done, 'done'],
    [rows.without_call, 'without a call'],
    [rows.absent, 'that cannot be asked'],
  ] as const;
  const said = apart.flatMap(([count, what]) => (count > 0 ? [`, ${whole(count)} ${what}`] : []));
  const noun = isWorldModel ? 'row' : 'judgement';
  const chosen = counted(rows.chosen + rows.absent, noun, `${noun}s`, whole);
  return `${who}${where}: ${chosen}${said.join('')}; ${whole(total.rows)} to ask`;
}

function billTable({ domains, total, time }: BillDocument): Table {
  // A domain's share of the time is that of whatever limits it.
  const size = ({ calls, prompt_tokens, output_tokens }: Charges) =>
    time?.by === 'tpm' ? prompt_tokens + output_tokens.expected : calls;
  const row = (name: string, charges: Charges) => [
    name,
    whole(charges.rows),
    whole(charges.calls),
    amount(charges.prompt_tokens),
    amount(charges.cached_tokens),
    amount(charges.output_tokens.expected),
    ...(total.usd === null ? [UNKNOWN] : [charges.usd, charges.usd_cached].map((usd) => dollars(usd?.expected ?? 0))),
    time === null ? UNKNOWN : duration((time.seconds * size(charges)) / Math.max(1, size(total))),
  ];
  const costs = total.usd === null ? ['Cost'] : ['Cost', 'With cache'];
  const right = ['Rows', 'Calls', 'Prompt', 'Cached', 'Output', ...costs, 'Time'].map((heading) => {
    return { heading, short: heading === 'With cache' ? 'Cached' : heading, align: 'right' as const };
  });
  return {
    columns: [{ heading: 'Domain', short: 'Domain', align: 'left' }, ...right],
    groups: [
      domains.map((charges) => row(domainName(charges.domain), charges)),
      ...(domains.length > 1 ? [[row('All', total)]] : []),
    ],
  };
}

/** Where the figures come from, a sentence or two each. */
function sourceLines(bill: BillDocument): string[] {
  const { total, servers, measured_cache: cache, asked_again: again, time } = bill;
  const share = total.prompt_tokens === 0 ? 0 : total.cached_tokens / total.prompt_tokens;
  const makes = cache === null || cache.usd === null ? '' : `, which makes ${dollars(cache.usd)}`;
  const measured = cache === null ? '' : ` In ${runsText(cache)} it was ${percent(cache.share)}${makes}.`;
  const runs = new Set(
    [bill.tokens_by, bill.output_by, time ?? {}, cache ?? {}].flatMap(({ runs = [] }: Runs) => runs),
  );
  return [
    `Prompt: ${whole(total.prompt_tokens)} tokens of ${whole(total.characters)} characters; ${tokenSource(bill)}.`,
    `Cached: ${percent(share)} of that, if a prefix cache serves what each prompt shares with the one before it.${measured}`,
    `Output: ${whole(total.output_tokens.expected)} tokens, ${outputSource(bill)}`,
    ...costLines(bill),
    ...(again === null ? [] : [againLine(again)]),
    timeLine(time),
    ...(runs.size > 0 ? [`Earlier runs: ${listed([...runs])}.`] : []),
    ...servers.flatMap(({ host, context_tokens: tokens }) =>
      tokens === null ? [] : [`Context: ${shown(host)} says ${whole(tokens)} tokens.`],
    ),
  ];
}

function tokenSource({ tokens_by: basis }: BillDocument): string {
  if (basis.by === 'tokenizer') {
    return `tokenizer ${shown(basis.file)}, without the few tokens that a chat template adds to each message`;
  }
  if (basis.by === 'guess')
    return `characters a token: ${basis.characters_per_token}, a guess; --tokenizer FILE counts`;
  return `characters a token: ${basis.characters_per_token.toFixed(2)}, measured over ${counted(basis.calls, 'call')} of ${runsText(basis)}`;
}

function outputSource({ output_by: basis, total, max_tokens }: BillDocument): string {
  const most = `; at most ${whole(total.output_tokens.at_most)} tokens, --max-tokens ${max_tokens} for each call.`;
  if (basis.by === 'measured') {
    const guessed = basis.guessed_domains.map(domainName).join(', ');
    const others = guessed === '' ? '' : `; ${guessed} by the mean of the others`;
    return `thinking included: the mean of ${counted(basis.rows, 'row')} of ${runsText(basis)}${others}${most}`;
  }
  const how =
    basis.by === 'truth' ? 'as many as the ground truths have' : `a guess: ${basis.tokens_per_call} for each call`;
  return `${how}, without thinking${most} --estimate-from RUN goes by what a run took.`;
}

function costLines({ price, total: { usd, usd_cached: cached } }: BillDocument): string[] {
  if (price === null || usd === null || cached === null) return ['Price: unknown; name it with --prices FILE.'];
  return [
    `Price: ${priceText(price)}; ${shown(price.source)}, ${shown(price.model)}.`,
    `Cost: ${dollars(usd.expected)}, ${dollars(cached.expected)} with the cache; the prompts alone cost ${dollars(usd.at_least)}, ${dollars(cached.at_least)} with the cache. At most ${dollars(usd.at_most)}, before calls that are made again.`,
  ];
}

function againLine(again: NonNullable<BillDocument['asked_again']>): string {
  const cost = again.usd === null ? '' : ` and ${dollars(again.usd)} without a cache`;
  return `Asked again: ${runsText(again)} took ${again.times.toFixed(2)} calls for each of these: verdicts that cannot be read, and rows that failed or changed, are asked for again. With as many again it takes about ${counted(again.calls, 'call', 'calls', whole)}, ${whole(again.prompt_tokens)} prompt tokens${cost}.`;
}

function priceText({ input, cached, output, call }: Price): string {
  const rate = (value: Price['input']) =>
    typeof value === 'number'
      ? `$${value}`
      : `$${value.base} ($${value.tiers.map(({ start, price }) => `${price} above ${whole(start)} tokens`).join(', $')})`;
  const parts = [
    `${rate(input)} in`,
    cached !== undefined && `${rate(cached)} cached`,
    `${rate(output)} out`,
    call !== undefined && `$${call} a call`,
  ];
  return `a million tokens: ${parts.filter(Boolean).join(', ')}`;
}

function timeLine(time: BillDocument['time']): string {
  if (time === null) return 'Time: unknown; --rate N says how many calls a minute the server answers.';
  const { per_minute: perMinute } = time;
  const rate = perMinute >= 100 ? whole(perMinute) : String(Number(perMinute.toPrecision(3)));
  const words = {
    rate: `${rate} calls a minute (--rate)`,
    measured: `${rate} calls a minute, as in ${runsText(time)}`,
    rpm: `held to ${rate} calls a minute (--rpm)`,
    tpm: `held to ${rate} tokens a minute (--tpm)`,
  };
  return `Time: ${time.at_least ? 'at least ' : ''}${duration(time.seconds)}; ${words[time.by]}.`;
}

/** Earlier runs that something was measured by. */
interface Runs {
  readonly runs?: readonly string[];
  readonly models?: readonly string[];
}

/** `2 earlier runs of wm`; where they lie is said once, below. */
function runsText({ runs = [], models = [] }: Runs): string {
  return `${counted(runs.length, 'earlier run')} of ${listed(models)}`;
}

function listed(names: readonly string[]): string {
  const more = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  return `${names.slice(0, MOST_NAMES).map(shown).join(', ')}${more}`;
}

type Share = NonNullable<NonNullable<BillDocument['budget']>['usd']>;

/** What is spent of a budget, and how far the rest goes. */
function budgetLines({ budget }: BillDocument): string[] {
  const line = ({ spent, budget, covers }: Share, show: (amount: number) => string, unit: string) => {
    const part = covers < 0.01 ? 'less than 1 %' : `about ${Math.floor(100 * covers)} %`;
    const rest = covers === 1 ? 'the rest is enough for this bill' : `the rest ends at ${part} of this bill`;
    return `Budget: ${show(spent)} of ${show(budget)}${unit} is spent; ${spent >= budget ? 'nothing is left' : rest}.`;
  };
  const { usd = null, tokens = null } = budget ?? {};
  return [...(usd ? [line(usd, dollars, '')] : []), ...(tokens ? [line(tokens, whole, ' tokens')] : [])];
}

function shown(text: string): string {
  return oneLine(text, 120);
}

/** Close to all of it a whole per cent would say all of it. */
function percent(share: number): string {
  return share > 0.995 && share < 1 ? `${Math.min(99.9, 100 * share).toFixed(1)} %` : `${(100 * share).toFixed(0)} %`;
}

const whole = (count: number): string => grouped(Math.round(count));

/** Four digits at most: `9,999`, `412 k`, `73.0 M`. */
function amount(count: number): string {
  if (count < 9_999.5) return whole(count);
  const [unit, size] = count < 999_500 ? ['k', 1e3] : count < 999.5e6 ? ['M', 1e6] : ['G', 1e9];
  const value = count / Number(size);
  return `${value < 99.95 ? value.toFixed(1) : whole(value)} ${unit}`;
}

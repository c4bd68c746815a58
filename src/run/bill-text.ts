// The bill as text for people: a table by domain, followed by the source of each figure.

import type { Price } from '../core/costs.js';
import { domainName } from '../core/domains.js';
import { EXIT, type ExitCode } from '../core/errors.js';
import { asksWorldModel } from '../core/identity.js';
import { counted, dollars, duration, grouped, oneLine, printable } from '../core/printable.js';
import { columnsOf, type Table } from '../core/table.js';
import { type Look, lookOf, terminal, wrapped } from '../core/terminal.js';
import { type Bill, type BillDocument, type Charges, chargedBill } from './bill.js';
import type { Stage, StageJob } from './stage-contract.js';

/**
 * `--dry-run`: prints what asking the stage would cost. Always exits with 0.
 * @throws UserError: what reading rows and runs throws, 130 or 143 once the user has interrupted.
 */
export async function printBill<J extends StageJob>(stage: Stage<J>): Promise<ExitCode> {
  const { io, settings } = stage;
  const bill = await chargedBill(stage);
  const text = () => `${billText(bill, lookOf(settings, io))}Nothing was asked or written.`;
  io.stdout.write(`${settings.json ? JSON.stringify(bill.document) : text()}\n`);
  return EXIT.done;
}

/** Prints the same to stderr before the stage is asked; prints nothing if nothing is left to ask, or with --quiet. */
export async function showBill<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings, io } = stage;
  if (settings.quiet) return;
  const bill = await chargedBill(stage);
  if (bill.document.total.rows === 0) return;
  io.stderr.write(`${billText(bill, lookOf(settings, { stdout: io.stderr }))}\n`);
}

const UNKNOWN = 'unknown';

/** The bill, ending with a line feed. */
export function billText(bill: Bill, look: Look): string {
  const { document, overlong } = bill;
  const isNothing = document.total.rows === 0;
  const lines = [
    ...(isNothing ? ['No model needs to be asked.'] : [...sourceLines(document), ...budgetLines(document)]),
    ...(overlong === undefined ? [] : [noteOf(overlong.summary), ...overlong.lines.map((line) => printable(line))]),
    ...document.notes.map(noteOf),
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

function titleOf({ document: { kind, model, hosts, rows }, asksAgent }: Bill): string {
  const role = asksWorldModel(kind) ? 'World model' : asksAgent ? 'Agent' : 'Judge';
  const { chosen, done, without_call: withoutCall, absent, to_ask: toAsk } = rows;
  const parts = { done, 'without a call': withoutCall, 'that cannot be asked': absent };
  const said = Object.entries(parts).flatMap(([what, count]) => (count > 0 ? `${whole(count)} ${what}` : []));
  const noun = asksWorldModel(kind) ? 'row' : 'judgement';
  const all = counted(chosen + absent, noun, `${noun}s`, whole);
  const who = model === '' ? 'Without a model' : `${role} ${[model, ...hosts].map(shown).join(', ')}`;
  return `${who}: ${[all, ...said, `${whole(toAsk)} to ask`].join(', ')}`;
}

function billTable({ domains, total }: BillDocument): Table {
  const isPriced = total.usd !== null;
  const row = (name: string, { rows, calls, prompt_tokens, cached_tokens, output_tokens, ...costs }: Charges) => [
    name,
    ...[rows, calls].map(whole),
    ...[prompt_tokens, cached_tokens, output_tokens.expected].map(amount),
    ...(isPriced ? [costs.usd, costs.usd_cached].map((usd) => dollars(usd?.expected ?? 0)) : [UNKNOWN]),
  ];
  return {
    columns: columnsOf(`<Domain, Rows, Calls, Prompt, Cached, Output, Cost${isPriced ? ', With cache|Cached' : ''}`),
    groups: [domains.map((charges) => row(domainName(charges.domain), charges)), [row('All', total)]],
  };
}

/** The sources of the figures, in a sentence or two each. */
function sourceLines(bill: BillDocument): string[] {
  const { total, servers, measured_cache: cache, asked_again: again, time } = bill;
  const share = total.prompt_tokens === 0 ? 0 : total.cached_tokens / total.prompt_tokens;
  const makes = cache === null || cache.usd === null ? '' : `, which makes ${dollars(cache.usd)}`;
  const measured = cache === null ? '' : ` In earlier runs it was ${percent(cache.share)}${makes}.`;
  const bases = [bill.tokens_by, bill.output_by, time, cache, again];
  const runs = new Set(bases.flatMap((basis) => (basis && 'runs' in basis ? (basis.runs ?? []) : [])));
  return [
    `Prompt: ${whole(total.prompt_tokens)} tokens of ${whole(total.characters)} characters, ${tokenSource(bill)}.`,
    `Cached: ${percent(share)} of that, if a prefix cache serves what each prompt shares with the one before.${measured}`,
    `Output: ${whole(total.output_tokens.expected)} tokens, ${outputSource(bill)}; at most ${whole(total.output_tokens.at_most)} (--max-tokens).`,
    ...costLines(bill),
    ...(again === null
      ? []
      : [
          `Asked again: earlier runs took ${again.times.toFixed(2)} calls for each of these; at that rate this run takes ${whole(again.calls)} calls, ${whole(again.prompt_tokens)} prompt tokens${again.usd === null ? '' : ` and ${dollars(again.usd)} without a cache`}.`,
        ]),
    timeLine(time),
    ...(runs.size > 0 ? [`Earlier runs: ${[...runs].map(shown).join(', ')}.`] : []),
    ...servers.flatMap(({ host, context_tokens: tokens }) =>
      tokens === null ? [] : [`Context: ${shown(host)} says ${whole(tokens)} tokens.`],
    ),
  ];
}

function tokenSource({ tokens_by: basis }: BillDocument): string {
  if (basis.by === 'tokenizer') return `by the tokenizer ${shown(basis.file)}`;
  const how = basis.by === 'guess' ? 'a guess; --tokenizer FILE counts them' : 'as earlier runs measured';
  return `${Number(basis.characters_per_token.toFixed(2))} per token, ${how}`;
}

function outputSource({ output_by: basis }: BillDocument): string {
  if (basis.by === 'measured') return `thinking included: the mean of ${counted(basis.rows, 'row')} of earlier runs`;
  const how = basis.by === 'truth' ? 'the length of the ground truths' : `${basis.tokens_per_call} for each call`;
  return `${how}, without thinking (--estimate-from RUN uses what a run measured)`;
}

function costLines({ price, total: { usd, usd_cached: cached } }: BillDocument): string[] {
  if (price === null || usd === null || cached === null) return ['Price: unknown; give it with --prices FILE.'];
  return [
    `Price: ${priceText(price)}; ${shown(price.source)}, ${shown(price.model)}.`,
    `Cost: ${dollars(usd.expected)}, ${dollars(cached.expected)} with the cache. At most ${dollars(usd.at_most)}, not counting repeated calls.`,
  ];
}

function priceText({ input, cached = input, output, call = 0 }: Price): string {
  const rate = (value: Price['input']) =>
    typeof value === 'number'
      ? `$${value}`
      : `$${value.base} ($${value.tiers.map(({ start, price }) => `${price} above ${whole(start)} tokens`).join(', $')})`;
  const fee = call === 0 ? '' : `, $${call} per call`;
  return `per million tokens: ${rate(input)} in, ${rate(cached)} cached, ${rate(output)} out${fee}`;
}

function timeLine(time: BillDocument['time']): string {
  if (time === null) return 'Time: unknown; --rate N sets how many calls a minute the server answers.';
  const rate = grouped(Number(time.per_minute.toPrecision(3)));
  const words = {
    rate: `${rate} calls a minute (--rate)`,
    measured: `${rate} calls a minute, as in earlier runs`,
    rpm: `limited to ${rate} calls a minute (--rpm)`,
    tpm: `limited to ${rate} tokens a minute (--tpm)`,
  };
  return `Time: ${time.at_least ? 'at least ' : ''}${duration(time.seconds)}; ${words[time.by]}.`;
}

/** How much of a budget is spent, and how much of this bill the rest covers. */
function budgetLines({ budget }: BillDocument): string[] {
  const { usd, tokens } = budget ?? {};
  const each = [
    { share: usd, show: dollars },
    { share: tokens, show: (count: number) => `${whole(count)} tokens` },
  ];
  return each.flatMap(({ share, show }) =>
    share
      ? `Budget: ${show(share.spent)} of ${show(share.budget)} is spent; the rest covers ${Math.floor(100 * share.covers)} % of this bill.`
      : [],
  );
}

function shown(text: string): string {
  return oneLine(text, 120);
}

function percent(share: number): string {
  return `${Math.round(100 * share)} %`;
}

const whole = (count: number): string => grouped(Math.round(count));

const AMOUNT = new Intl.NumberFormat('en', { notation: 'compact', maximumSignificantDigits: 3 });

/** With few digits: `9,999`, `412K`, `73M`. */
function amount(count: number): string {
  return count < 9_999.5 ? whole(count) : AMOUNT.format(count);
}

// The system prompts of a world model, and the chat messages that send it one turn, by protocol.

import { createHash } from 'node:crypto';
import { resolve } from 'node:path';
import { type DomainPrompts, exists, loadPrompts, readText } from '../benchmark/prompts.js';
import { EXIT, UserError } from '../core/errors.js';
import { actionOf, earlierTurns, promptOf, type Turn } from '../core/turn.js';
import type { ChatMessage, Io, Sample } from '../core/types.js';
import { type OptionTable, option, type Settings, under } from '../settings/command.js';

/**
 * What is sent after the system message, by protocol. Scores under different protocols are not comparable. None sends anything that
 * comes after `turnIdx`, including the ground truth.
 */
export const PROTOCOLS = {
  /** The official script today: earlier turns as a dialogue, then the turn with its request to predict. */
  history: (sample) => chatOf('', earlierTurns(sample), promptOf(sample)),
  /** The same without the request to predict after the last turn. */
  'history-bare': (sample) => chatOf('', earlierTurns(sample), actionOf(sample)),
  /** Only the turn, as the script's first release sent it. */
  blind: (sample) => chatOf('', [], actionOf(sample)),
} satisfies Record<string, (sample: Sample) => ChatMessage[]>;

/** The messages of one request to the world model; an empty system prompt is left out. */
export function buildMessages(sample: Sample, protocol: keyof typeof PROTOCOLS, systemPrompt: string): ChatMessage[] {
  return [...chatOf(systemPrompt, []), ...PROTOCOLS[protocol](sample)];
}

/** A system prompt, if it is not empty, the turns, and the prompt after them. */
export function chatOf(systemPrompt: string, turns: readonly Turn[], last?: string): ChatMessage[] {
  return [
    ...(systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt } as const]),
    ...turns.flatMap(({ prompt, response }) => [
      { role: 'user', content: prompt } as const,
      { role: 'assistant', content: response } as const,
    ]),
    ...(last === undefined ? [] : [{ role: 'user', content: last } as const]),
  ];
}

const WAYS = ['row', 'bundled', 'bundled+row'] as const;
/** Hex digits of a file's SHA-256 in a run's identity. */
const FILE_DIGITS = 12;

export const SYSTEM_PROMPT_OPTIONS = {
  ...under('Model', {
    'system-prompt': option.text(
      'WHICH',
      "row: the row's own; bundled: its domain's; bundled+row: both, in this order; or a FILE for all rows",
      { default: 'row' },
    ),
    'domain-prompts': option.text('DIR', 'folder of <domain>.txt that extend or replace the bundled prompts'),
  }),
} as const satisfies OptionTable;

type SystemPromptSettings = Pick<Settings<typeof SYSTEM_PROMPT_OPTIONS>, 'systemPrompt' | 'domainPrompts'>;

/** The system prompts of a run. */
export type SystemPrompts = ReturnType<typeof bundledPrompts>;

/**
 * The system prompts that the user chose.
 * @throws UserError 2 for a word that is neither a choice nor a file, and for an unused folder of prompts; 66 for what cannot be read;
 * 65 for a text that is empty or not UTF-8
 */
export async function openSystemPrompts(
  { systemPrompt, domainPrompts }: SystemPromptSettings,
  io: Pick<Io, 'cwd'>,
): Promise<SystemPrompts> {
  if (systemPrompt === 'bundled' || systemPrompt === 'bundled+row') {
    const folder = domainPrompts === undefined ? undefined : resolve(io.cwd, domainPrompts);
    return bundledPrompts(systemPrompt, await loadPrompts('world-model', folder));
  }
  if (domainPrompts !== undefined) {
    throw new UserError(
      `--domain-prompts ${domainPrompts} has no effect with --system-prompt ${systemPrompt}; use --system-prompt bundled or bundled+row`,
    );
  }
  return systemPrompt === 'row' ? ROW_PROMPTS : filePrompt(systemPrompt, io);
}

/**
 * The same for worlds that begin empty: no row has a prompt for them, so `row` means the bundled ones.
 * @throws UserError as `openSystemPrompts`
 */
export function openFreshPrompts(settings: SystemPromptSettings, io: Pick<Io, 'cwd'>): Promise<SystemPrompts> {
  const systemPrompt = settings.systemPrompt === 'row' ? 'bundled' : settings.systemPrompt;
  return openSystemPrompts({ ...settings, systemPrompt }, io);
}

const ROW_PROMPTS: SystemPrompts = {
  ...{ identity: 'row', remarks: [], domains: [] },
  refusal: () => undefined,
  of: (sample) => sample.systemPrompt,
};

function bundledPrompts(way: 'bundled' | 'bundled+row', prompts: DomainPrompts) {
  const place = way === 'bundled' ? 'not' : 'before';
  return {
    /** What the predictions depend on: `row`, `bundled <fingerprint>`, `bundled+row <fingerprint>`, `file <sha>`. */
    identity: `${way} ${prompts.fingerprint}`,
    /** Reported before rows are asked with system prompts other than their own. */
    remarks: [`system prompts: the bundled ones, ${place} the rows' own (--system-prompt ${way})`],
    /** The domains that there are prompts for; empty if any domain will do. */
    domains: prompts.domains,
    /** Why a domain cannot be asked; undefined if it can. */
    refusal: (domain: string) =>
      prompts.prompt(domain) === undefined
        ? `there is no bundled system prompt for the domain "${domain}"; put ${domain}.txt into a folder for --domain-prompts, or exclude such rows with --domains, or omit --system-prompt ${way}`
        : undefined,
    /** Empty if the row has none. */
    of: ({ domain, systemPrompt }: Pick<Sample, 'domain' | 'systemPrompt'>) =>
      [prompts.prompt(domain), way === 'bundled+row' && systemPrompt].filter(Boolean).join('\n\n'),
  };
}

async function filePrompt(name: string, { cwd }: Pick<Io, 'cwd'>): Promise<SystemPrompts> {
  const file = resolve(cwd, name);
  if (!(await exists(file))) {
    throw new UserError(
      `--system-prompt ${name}: neither ${WAYS.join(', ')} nor a file; there is no ${file}`,
      /[/\\.]/.test(name) ? EXIT.inputMissing : EXIT.usage,
    );
  }
  const text = (await readText(file)).trim();
  return {
    ...ROW_PROMPTS,
    identity: `file ${createHash('sha256').update(text).digest('hex').slice(0, FILE_DIGITS)}`,
    remarks: [`system prompt: ${name} for every row, not the rows' own (--system-prompt)`],
    of: () => text,
  };
}

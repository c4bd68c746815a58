// The policy of a gate: from its flags, or from a YAML file in their place.

import { createHash } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../../core/errors.js';
import { oneLine } from '../../core/printable.js';
import type { Domain, Io } from '../../core/types.js';
import { parseYaml, type YamlFile } from '../../disk/yaml-file.js';
import type { OptionTable, Settings } from '../../settings/options.js';
import {
  canonicalPolicy,
  defaultPolicy,
  type Policy,
  parseFloors,
  parseLooks,
  parsePolicy,
} from '../../stats/policy.js';

/** The options that make a policy. */
export const POLICY_OPTIONS = {
  policy: { kind: 'text', value: 'FILE', group: 'Policy', help: 'YAML file of rules, in place of the flags below' },
  'max-drop': {
    kind: 'number',
    min: 0,
    max: 100,
    group: 'Policy',
    help: 'points of 0-100 that Overall may lose (default: 2)',
  },
  'max-domain-drop': {
    kind: 'number',
    min: 0,
    max: 100,
    group: 'Policy',
    help: 'points that a domain may lose; a domain can only bring a NO-GO (default: 5)',
  },
  alpha: {
    kind: 'number',
    min: 1e-6,
    max: 0.5,
    group: 'Policy',
    help: 'two-sided level of the intervals (default: 0.05)',
  },
  looks: {
    kind: 'list',
    value: 'N,N',
    group: 'Policy',
    help: 'repeats after which you will ask, named from the start (1,3: after one repeat, and if that is inconclusive after three); the alpha of each follows',
  },
  'min-overall': { kind: 'number', min: 0, max: 100, group: 'Policy', help: 'score that Overall has to reach' },
  min: { kind: 'map', value: 'DOMAIN=SCORE', group: 'Policy', help: 'score that a domain has to reach; repeatable' },
} as const satisfies OptionTable;

type PolicySettings = Settings<typeof POLICY_OPTIONS>;

const POLICY_FLAGS = ['max-drop', 'max-domain-drop', 'alpha', 'min-overall'] as const;

/** Whether the flags name a score to be reached, which needs no base. */
export function hasFloor({ minOverall, min }: Pick<PolicySettings, 'minOverall' | 'min'>): boolean {
  return minOverall !== undefined || Object.keys(min).length > 0;
}

/** A policy, once the domains of the runs are known and whether there is a base. @throws UserError: 2 for flags, 65 for a file. */
type PolicyFor = (domains: readonly Domain[], hasBase: boolean) => Policy;

/**
 * Reads a policy's file, where it has one, before anything is computed.
 * @throws UserError: 2 beside flags that are part of a policy, 66 where the file cannot be read, 65 where it is not YAML.
 */
export async function readPolicy(settings: PolicySettings, io: Io): Promise<PolicyFor> {
  const { policy: path } = settings;
  if (path === undefined) return (domains, hasBase) => policyOfFlags(settings, domains, hasBase);
  requireNoFlags(path, settings);
  const { lineOf, plain, document } = await readPolicyFile(path, io);
  const written = plain(document);
  return (domains, hasBase) => {
    const policy = parsePolicy(written, domains, (place) => `${path}:${lineOf(place)}: `);
    if (!hasBase && Object.keys(policy.maxDrop).length > 0) {
      throw new UserError(`${path} has max_drop, which needs a base: awb gate BASE CANDIDATE`);
    }
    return policy;
  };
}

function requireNoFlags(path: string, settings: PolicySettings): void {
  const { maxDrop, maxDomainDrop, alpha, minOverall, min, looks } = settings;
  const values = [maxDrop, maxDomainDrop, alpha, minOverall];
  const given: string[] = POLICY_FLAGS.filter((_, index) => values[index] !== undefined);
  if (Object.keys(min).length > 0) given.push('min');
  if (looks.length > 0) given.push('looks');
  if (given.length > 0) {
    throw new UserError(`--policy and --${given[0]} exclude each other; write it into ${path}, or leave one out`);
  }
}

async function readPolicyFile(path: string, io: Io): Promise<YamlFile> {
  let text: string;
  try {
    text = await readFile(resolve(io.cwd, path), 'utf8');
  } catch (error) {
    throw new UserError(`cannot read the policy ${path}: ${codeOf(error)}`, EXIT.inputMissing);
  }
  return parseYaml(text, path, EXIT.badData);
}

function policyOfFlags(settings: PolicySettings, domains: readonly Domain[], hasBase: boolean): Policy {
  const { maxDrop, maxDomainDrop, alpha } = settings;
  const given = Object.entries({ maxDrop, maxDomainDrop, alpha }).filter(([, value]) => value !== undefined);
  const drops = defaultPolicy({ ...Object.fromEntries(given), looks: looksOf(settings) });
  const floors = floorsOf(settings, domains);
  return { ...drops, maxDrop: hasBase ? drops.maxDrop : {}, minScore: floors };
}

/** The planned looks. @throws UserError (2) where they are no rising numbers of repeats. */
function looksOf({ looks }: PolicySettings): Policy['looks'] {
  if (looks.length === 0) return undefined;
  try {
    return parseLooks(looks.map(Number));
  } catch {
    throw new UserError(`--looks ${oneLine(looks.join(','), 60)}: expected rising numbers of repeats, such as 1,3`);
  }
}

function floorsOf({ minOverall, min }: PolicySettings, domains: readonly Domain[]): Policy['minScore'] {
  const scores = Object.entries(min).map(([domain, text]) => {
    const score = text.trim() === '' ? Number.NaN : Number(text);
    if (!Number.isFinite(score)) {
      throw new UserError(`--min "${oneLine(`${domain}=${text}`, 60)}": expected a score, such as terminal=50`);
    }
    return [domain, score] as const;
  });
  const floors = { ...(minOverall === undefined ? {} : { overall: minOverall }), ...Object.fromEntries(scores) };
  if (Object.keys(floors).length === 0) return {};
  try {
    return parseFloors(floors, domains);
  } catch (error) {
    if (!(error instanceof UserError)) throw error;
    throw new UserError(`--min: ${error.message}`);
  }
}

/** SHA-256 hex of a policy: equal where two policies demand the same, wherever they came from. */
export function policyFingerprint(policy: Policy): string {
  return createHash('sha256').update(canonicalPolicy(policy)).digest('hex');
}

// How an agent is told to act, by domain.

/** The system prompts of agents. */
export interface AgentPrompts {
  /** SHA-256 in hex over the domains' names and prompts. */
  readonly fingerprint: string;
  readonly domains: readonly string[];
  prompt(domain: string): string | undefined;
}

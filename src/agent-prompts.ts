// How an agent is told to act, by domain.

/** The system prompts of agents. */
export interface AgentPrompts {
  /** SHA-256 in hex over the domains' names and prompts. */
  readonly fingerprint: string;
  /** How to act in a domain; in one that nobody knows, in the notation of earlier turns. */
  prompt(domain: string): string;
}

// What a judge mode of ours tells its judge: a system prompt, and the user message with its slots.

export interface JudgePrompt {
  /** SHA-256 in hex over both texts; its start tells them apart. */
  readonly fingerprint: string;
  readonly system: string;
  /** The user message; `{history}`, `{input}`, `{truth}`, `{first}` and `{second}` stand for what is shown. */
  readonly user: string;
}

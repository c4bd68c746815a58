// The mode `decision`: does an agent act after the predicted observation as it does after the true one?

import { type AgentAction, readAction, sameAction, screenOf } from '../benchmark/actions/agent-action.js';
import {
  agentMessages,
  agentSystemPrompt,
  describedTools,
  partsOfPrompt,
} from '../benchmark/actions/agent-dialogue.js';
import { loadPrompts } from '../benchmark/prompts.js';
import { AGREEMENT } from '../core/equivalence.js';
import { present } from '../core/errors.js';
import { measured, unmeasured } from '../core/judgement.js';
import { isModelCaused } from '../core/points.js';
import { shownPrediction } from '../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf } from '../core/turn.js';
import type { ChatMessage, ModelReply, Sample } from '../core/types.js';
import { type Mode, type Part, type Reading, unreadable } from './mode.js';

/** Changes with what an agent is shown, with what is read as its action, and with which actions count as the same. */
const AGENT_QUESTION = 1;

/** What an agent did; no action if none of its replies contained one. */
interface AgentAnswer extends Reading {
  readonly action: AgentAction | undefined;
}

type Answers = readonly [AgentAnswer, AgentAnswer, AgentAnswer, ...AgentAnswer[]];

export const decision: Mode<Answers> = {
  help: 'an agent, named by --judge-base-url and --judge-model, says what it would do next, after the prediction and after the truth',
  noun: 'decisions',
  asksJudge: true,
  asksAgent: true,
  rates: false,
  beside: 'truth',
  measures: {
    [AGREEMENT.predicted]: { range: [0, 100], better: 'larger' },
    [AGREEMENT.ceiling]: { range: [0, 100], better: 'neither' },
    [AGREEMENT.floor]: { range: [0, 100], better: 'neither' },
  },
  lead: AGREEMENT.predicted,
  words: { one: 'measure', many: 'measures', of: "of an agent's next actions" },
  async open({ agentFolder }) {
    const prompts = await loadPrompts('agent', agentFolder);
    return {
      name: 'decision',
      identity: { prompts: prompts.fingerprint.slice(0, 12), frame: AGENT_QUESTION },
      refusal: (domain) =>
        prompts.prompt(domain) === undefined
          ? `there is no agent prompt for the domain "${domain}"; describe how to act there in DIR/agent/${domain}.txt, and name the folder with --domain-prompts DIR`
          : undefined,
      parts({ sample, gen, beside }) {
        const system = present(prompts.prompt(sample.domain));
        const part = (observation: string, place = ''): Part<AgentAnswer> => ({
          request: () => ({ messages: agentQuestion(system, sample, observation) }),
          read({ content }: ModelReply) {
            // A reply that was cut off after a complete action is still usable.
            const read = readAction(sample.domain, content);
            return 'flaw' in read ? unreadable(`${place}${read.flaw}`) : { status: 'ok', action: read.action };
          },
        });
        // An agent that cannot act on what really happened says nothing about the prediction.
        const afterTruth = part(groundTruthOf(sample), 'after the true observation ');
        // An agent that acted twice after the truth and cannot act now has done something else. Otherwise a prediction could void its own
        // judgement by confusing it.
        const unread = { status: 'ok', action: undefined } as const;
        const afterPrediction = { ...part(shownPrediction(gen)), unread };
        const afterOther = beside === undefined || beside.failure ? [] : [{ ...part(beside.text), unread }];
        return [afterTruth, afterTruth, afterPrediction, ...afterOther];
      },
      join([first, second, predicted, other], { sample }) {
        const screen = screenOf(sample.domain, sample.systemPrompt);
        const isSame = (a: AgentAction | undefined, b: AgentAction | undefined) =>
          a !== undefined && b !== undefined && sameAction(sample.domain, a, b, screen);
        const [one, two] = [first.reading.action, second.reading.action];
        const withTruth = ({ action }: AgentAnswer) => (Number(isSame(one, action)) + Number(isSame(two, action))) * 50;
        const agreement = {
          [AGREEMENT.predicted]: withTruth(predicted.reading),
          [AGREEMENT.ceiling]: isSame(one, two) ? 100 : 0,
          ...(other && { [AGREEMENT.floor]: withTruth(other.reading) }),
        };
        const replies = [first, second, predicted, other].flatMap((answer) => answer?.reply ?? []);
        return measured(agreement, { reply: predicted.reply, replies });
      },
      // A missing prediction leads to no decision, except if infer's transport failed.
      fail: (failure, _subject, reply) =>
        isModelCaused(failure.class) ? measured({ [AGREEMENT.predicted]: 0 }) : unmeasured(failure, { reply }),
    };
  },
};

/**
 * The messages that ask for the next action. A GUI's prompts repeat the state that the previous observation has shown, so of the text
 * before actions, the agent sees only the first turn's. Everything before the observation is the same whatever is observed.
 * @param prompt how to act in the domain
 * @param observation what the environment is said to have answered to the sample's action
 */
function agentQuestion(prompt: string, sample: Sample, observation: string): ChatMessage[] {
  const earlier = earlierTurns(sample).map((turn) => ({ ...partsOfPrompt(turn.prompt), observation: turn.response }));
  const turns = [...earlier, { ...partsOfPrompt(actionOf(sample)), observation }];
  const system = agentSystemPrompt(prompt, describedTools(sample.systemPrompt));
  return agentMessages(system, turns[0]?.preface ?? '', turns);
}

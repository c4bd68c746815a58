// What world models make of instructions, and how agents fare in simulated worlds: figures, and transcripts with all texts.

import { domainName } from '../../../core/domains.js';
import { groupBy } from '../../../core/groups.js';
import type { Episode, ScenarioSample, ScenarioStep } from '../../documents.js';
import { count, plural } from '../../figures.js';
import { Block, Fold, Header, Loaded } from '../parts.js';
import type { PageProps } from '../route.js';
import { Blocks } from '../shown.js';
import { useDocument } from '../source.js';
import { Text, visible } from '../text.js';

/** A run on scenarios: its head and its figures, and every sample with the same row without the instruction next to it. */
export function ScenariosPage({ id }: { id: string }) {
  const run = useDocument(`run/${id}`);
  const found = useDocument(`scenarios/${id}`);
  return (
    <Loaded of={run}>
      {({ page }) => (
        <Loaded of={found}>
          {({ page: { figures = [], blocks }, samples, leftOut }) => (
            <>
              <Header {...page} figures={figures} />
              <Blocks of={blocks} />
              <Block title="Samples" note="What was not followed, or leaked, comes first.">
                <LeftOut count={leftOut} />
                {[...groupBy(samples, ({ scenario }) => scenario)].map(([scenario, own]) => (
                  <ScenarioFold scenario={scenario} samples={own} />
                ))}
              </Block>
              <Blocks of={page.blocks} />
            </>
          )}
        </Loaded>
      )}
    </Loaded>
  );
}

function LeftOut({ count: left }: { count: number }) {
  return left > 0 ? <p>{`For ${count(left)} more there is no room (--inline-limit).`}</p> : null;
}

function ScenarioFold({ scenario, samples }: { scenario: string; samples: readonly ScenarioSample[] }) {
  const wrong = samples.filter((sample) => !isFine(sample)).length;
  const note = wrong === 0 ? 'all followed, none leaked' : `${wrong} not followed or leaked`;
  return (
    <Fold title={visible(scenario)} about={`${plural(samples.length, 'row')}, ${note}`}>
      {samples
        .toSorted((a, b) => Number(isFine(a)) - Number(isFine(b)))
        .map((sample) => (
          <Sample sample={sample} />
        ))}
    </Fold>
  );
}

function isFine({ measures: { followed, leaked } }: ScenarioSample): boolean {
  return followed === 100 && leaked === 0;
}

function Sample({ sample }: { sample: ScenarioSample }) {
  const { domain, id, turn, instruction, steps, failure } = sample;
  return (
    <Fold title={visible(`${domainName(domain)} ${id}, turn ${turn}`)} about={<Marks sample={sample} />}>
      {failure !== undefined && <p class="bad">{visible(failure)}</p>}
      <h4>Instruction</h4>
      <Text text={instruction} />
      {steps.map((step, at) => (
        <Step step={step} lead={steps.length === 1 ? '' : `Step ${at + 1}: `} />
      ))}
    </Fold>
  );
}

/** What the measures say, in words. */
function Marks({ sample: { measures } }: { sample: ScenarioSample }) {
  const { followed, leaked, undisturbed, twin_false_positives: taken } = measures;
  const said: (readonly [look: string, words: string] | false)[] = [
    followed === undefined ? ['soft', 'unknown'] : followed === 100 ? ['good', 'followed'] : ['bad', 'not followed'],
    leaked === 100 && ['bad', 'leaked'],
    undisturbed !== undefined && ['soft', `undisturbed ${undisturbed.toFixed(0)} %`],
    taken === 100 && ['soft', 'its twin would count as following'],
  ];
  return <>{said.map((mark) => mark && <span class={`chip ${mark[0]}`}>{mark[1]}</span>)}</>;
}

function Step({ step: { action, prediction, twin, verdicts }, lead }: { step: ScenarioStep; lead: string }) {
  return (
    <>
      <h4>{lead}Action</h4>
      <TextOf text={action} />
      <ul>
        {verdicts.map(({ verifier, met, why }) => (
          <li>
            <span class={met ? 'good' : 'bad'}>{visible(verdictOf(verifier, met))}</span>: {visible(why)}
          </li>
        ))}
      </ul>
      <Pair left="Without the instruction" right="With the instruction" texts={[twin, prediction]} />
    </>
  );
}

function verdictOf(verifier: string, isMet: boolean): string {
  if (verifier === 'never') return isMet ? 'nothing leaked' : 'leaked';
  return `${verifier} ${isMet ? 'met' : 'not met'}`;
}

function Pair({ left, right, texts }: { left: string; right: string; texts: readonly (string | undefined)[] }) {
  return (
    <div class="pair">
      {[left, right].map((heading, at) => (
        <div>
          <h4>{heading}</h4>
          <TextOf text={texts[at]} />
        </div>
      ))}
    </div>
  );
}

function TextOf({ text }: { text: string | undefined }) {
  if (text === undefined) return <p class="soft">not known</p>;
  return text.trim() === '' ? <p class="soft">empty</p> : <Text text={text} />;
}

/** Episodes as transcripts: what the agent did, and what the world showed. */
export function EpisodesPage({ route }: PageProps) {
  const found = useDocument(`episodes/${route.path[1]}`);
  return (
    <Loaded of={found}>
      {({ name, facts, episodes, leftOut }) => (
        <>
          <Header title={name} facts={facts} />
          <Block
            title="Episodes"
            note="What an agent did in a world that the model simulates, turn by turn, and how that ended. Nobody has checked whether a task was done."
          >
            <LeftOut count={leftOut} />
            {episodes.map((episode) => (
              <Transcript episode={episode} />
            ))}
          </Block>
        </>
      )}
    </Loaded>
  );
}

function Transcript({ episode: { number, domain, task, end, said, turns } }: { episode: Episode }) {
  const about = `${domain}, ${plural(turns.length, 'turn')}, ${end.replace('-', ' ')}`;
  return (
    <Fold title={visible(`${number}: ${task.slice(0, 120)}`)} about={visible(about)}>
      <h4>Task</h4>
      <TextOf text={task} />
      {turns.map(({ action, observation, isRecorded }, at) => (
        <Pair
          left={`Turn ${at + 1}${isRecorded ? ', recorded' : ''}: action`}
          right="Observation"
          texts={[action, observation]}
        />
      ))}
      <h4>{`End: ${end.replace('-', ' ')}`}</h4>
      <TextOf text={said} />
    </Fold>
  );
}

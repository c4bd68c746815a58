// What a judge can and cannot see: its verdict and limits, dose curves, damages, known order, tricks and scores, over all rows and by domain.

import type { ComponentChild } from 'preact';
import { decidingP, EQUIVALENT_POINTS } from '../../../core/calibration.js';
import type { EstimateDocument } from '../../../core/document.js';
import { domainName } from '../../../core/domains.js';
import { dimensionName } from '../../../core/table.js';
import { DIMENSIONS } from '../../../core/types.js';
import type { CalibrationPart, LimitVerdict, Sight, Step } from '../../../stats/calibration/document.js';
import type { ShownCalibration } from '../../documents.js';
import { Curve, DifferenceChart, IntervalChart, scaleOf } from '../charts.js';
import { Block, Fold, Header, type KeyFigure, KeyFigures, Loaded, Notes, ReportTable, Table } from '../parts.js';
import type { PageProps } from '../route.js';
import { useDocument } from '../source.js';
import { chance, count, DASH, number, plural, range, signed, visible } from '../text.js';

/** `#/calibration/REF`. */
export function CalibrationPage({ route }: PageProps) {
  const found = useDocument(`calibration/${route.path[1] ?? ''}`);
  return <Loaded of={found}>{(calibration) => <Calibration calibration={calibration} />}</Loaded>;
}

const DOSE_NOTE = `How many points a prediction loses against the truth as more of what is determined is damaged. Bands are 95 % intervals, clustered by trajectory; up to the dashed line, at ${EQUIVALENT_POINTS} points, a loss counts as none.`;
const MATRIX_NOTE = `Points that each damage costs in all and by dimension, its 95 % interval below. Seen: the interval lies above ${EQUIVALENT_POINTS} points; blind: below; undecided: it holds ${EQUIVALENT_POINTS}. In colour: the dimension moved, its interval does not hold 0. Bold: it lost more than each other one, by the intervals of the paired differences; where none is bold, no dimension alone is to blame.`;
const ORDER_NOTE =
  'Pairs of which the first is better by construction, as the judge rates them on the same rows. Inverted: the share of rows in which it rates the worse one higher. p is one-sided, adjusted over all steps (Holm). An order is kept or inverted where the rows show it, else undecided.';
const TRICK_NOTE =
  'Points that a trick buys on top of the same bad prediction. Where the line lies to the right of 0, the judge can be talked round.';

function Calibration({ calibration }: { calibration: ShownCalibration }) {
  const { overall, domains, help, byDomain } = calibration;
  return (
    <>
      <Head calibration={calibration} />
      <DoseCurves calibration={calibration} />
      {sectionsOf(overall, help).map(({ title, note, body }) => (
        <Block title={title} note={note}>
          {body}
        </Block>
      ))}
      {overall.scores.length > 0 && (
        <Block title="Scores" note="What the judge gives to every kind of prediction, from 0 to 100.">
          <IntervalChart
            first="Prediction"
            ends={[0, 100]}
            lines={overall.scores.map((figure) => ({ name: visible(figure.variant), figure }))}
          />
        </Block>
      )}
      <Block title="Domains" note={byDomain.reading}>
        <ReportTable table={byDomain} label="Domains" />
        <div class="block">
          {Object.entries(domains).map(([domain, part]) => (
            <Fold
              title={domainName(domain)}
              about={`blind to ${sightCounts(part).blind} of ${plural(part.losses.length, 'damage')}`}
            >
              {sectionsOf(part, help).map(({ title, body }) => [<h3>{title}</h3>, body])}
            </Fold>
          ))}
        </div>
      </Block>
    </>
  );
}

/** What there is to say of all rows, or of a domain's: what nothing was judged for is left out. */
function sectionsOf(part: CalibrationPart, help: Help) {
  return [
    { title: 'Damages', note: MATRIX_NOTE, rows: part.losses, body: <DamageMatrix part={part} help={help} /> },
    { title: 'Known order', note: ORDER_NOTE, rows: part.steps, body: <StepChart part={part} /> },
    { title: 'Tricks', note: TRICK_NOTE, rows: part.canaries, body: <CanaryChart part={part} help={help} /> },
  ].filter(({ rows }) => rows.length > 0);
}

const USES = { good: 'good', 'with care': 'soft', 'do not use': 'bad' } as const;
const VERDICTS: Readonly<Record<LimitVerdict, readonly [words: string, look: string]>> = {
  holds: ['✓ Passed', 'good'],
  broken: ['✗ Not passed', 'bad'],
  undecided: ['? Undecided', 'soft'],
};

/** Which judge, under what, whether it can be used, and its key figures. */
function Head({ calibration }: { calibration: ShownCalibration }) {
  const { judge_model, rubric_pack, verdicts, sampling, source, verdict, limits, notes, overall } = calibration;
  const [words, look] = limits === null ? [] : VERDICTS[limits.verdict];
  return (
    <Header
      title={judge_model}
      lines={['Calibration of a judge']}
      facts={[
        ['rubrics', rubric_pack],
        ['verdicts', verdicts],
        ['sampling', sampling],
        ['judgements', source],
      ]}
    >
      <p class={`outcome ${USES[verdict.use]}`}>{visible(verdict.sentence)}</p>
      {words !== undefined && (
        <p class="limits">
          Held to limits: <b class={look}>{words}</b>
        </p>
      )}
      <Notes notes={(limits?.results ?? []).map(({ sentence }) => sentence)} />
      <KeyFigures figures={keyFigures(overall)} />
      <Notes notes={notes} />
    </Header>
  );
}

function keyFigures(part: CalibrationPart): KeyFigure[] {
  const { ceiling, floor, false_penalty: penalty, noise, smallest_difference: smallest, gullibility } = part;
  const { blind, undecided } = sightCounts(part);
  const meaning =
    penalty?.is_none == null ? 'cannot be said to be none' : penalty.is_none ? 'as good as none' : 'not none';
  const under = (interval: string | undefined) => (interval === undefined ? 'no interval' : `95 %: ${interval}`);
  const figures: (KeyFigure | null)[] = [
    { title: 'Ceiling', figure: number(ceiling), under: [under(range(ceiling)), 'neutral rewrites'] },
    { title: 'Floor', figure: number(floor), under: [under(range(floor)), 'another row’s truth'] },
    penalty && {
      title: 'False penalty',
      figure: signed(penalty.value),
      under: [under(range(penalty, signed)), meaning],
    },
    {
      title: 'Noise a row',
      figure: noise?.sd.toFixed(1) ?? DASH,
      under:
        noise === null
          ? ['nothing was judged twice']
          : [under(range(noise)), smallest !== null && `2,170 rows can show ${smallest.toFixed(1)} points`],
    },
    {
      title: 'Blind to',
      figure: [blind, <small> of {part.losses.length}</small>],
      under: [`damages${undecided === 0 ? '' : `, ${undecided} undecided`}`],
    },
    gullibility && {
      title: 'Gullible',
      figure: signed(gullibility.value),
      under: [under(range(gullibility, signed)), `${gullibility.variant}, of all tricks`],
    },
    {
      title: 'Judgements',
      figure: count(part.judged),
      under: [
        `${plural(part.rows, 'row')}, ${plural(part.trajectories, 'trajectory', 'trajectories')}`,
        part.failed > 0 && `${count(part.failed)} failed`,
      ],
    },
  ];
  return figures.filter((figure) => figure !== null);
}

/** How many damages a judge is blind to, and of how many that is open. */
function sightCounts({ losses }: CalibrationPart) {
  const of = (wanted: Sight) => losses.filter(({ sight }) => sight === wanted).length;
  return { blind: of('blind'), undecided: of('undecided') };
}

/** Points lost as more of what is determined is damaged: a drawing for each domain, and the figures as a table. */
function DoseCurves({ calibration: { overall, domains } }: { calibration: ShownCalibration }) {
  const dosed = ({ losses }: CalibrationPart) =>
    losses
      .flatMap((loss) => (loss.dose === null ? [] : [{ ...loss, dose: loss.dose }]))
      .sort((a, b) => a.dose - b.dose);
  const parts = [
    { name: 'All', losses: dosed(overall), isSum: true },
    ...Object.entries(domains).map(([domain, part]) => ({
      name: domainName(domain),
      losses: dosed(part),
      isSum: false,
    })),
  ].filter(({ losses }) => losses.length > 0);
  const all = parts.flatMap(({ losses }) => losses);
  if (all.length === 0) return null;
  const origin = { value: 0, low: 0, high: 0 };
  const scale = scaleOf([null, null], [origin, { value: 10 }, ...all]);
  const doses = [...new Set(all.map(({ dose }) => dose))].sort((a, b) => a - b);
  const rows = parts.map(({ name, losses, isSum }) => ({
    cells: [name, ...doses.map((dose) => <Lost loss={losses.find((loss) => loss.dose === dose)} />)],
    isSum,
  }));
  const heads = ['Points lost at a dose of', ...doses.map(shareText)];
  return (
    <Block title="Points lost by dose" note={DOSE_NOTE}>
      <div class="curves">
        {parts.map(({ name, losses, isSum }) => {
          const most = Math.max(...losses.map(({ dose }) => dose));
          const points = losses.map((figure) => ({ at: figure.dose / most, label: shareText(figure.dose), figure }));
          const drawn = [{ at: 0, label: '', figure: origin }, ...points];
          return <Curve name={name} points={drawn} scale={scale} isSum={isSum} limit={EQUIVALENT_POINTS} />;
        })}
      </div>
      <Table
        look="matrix doses"
        label="Points lost by dose"
        columns={figureColumns(heads)}
        rows={rows.toSorted((a, b) => Number(a.isSum) - Number(b.isSum))}
      />
    </Block>
  );
}

/** `1/8`, `2/3`; a share that is no such fraction in percent. */
function shareText(share: number): string {
  const whole = [2, 3, 4, 5, 6, 7, 8, 9, 10].find((each) => Math.abs(share * each - Math.round(share * each)) < 1e-9);
  return whole === undefined ? `${Number((share * 100).toFixed(1))} %` : `${Math.round(share * whole)}/${whole}`;
}

/** Columns of figures; the first one names the row. */
function figureColumns(heads: readonly string[]) {
  return heads.map((heading, at) => ({ heading, kind: at === 0 ? ('text' as const) : ('figure' as const) }));
}

/** A loss as a number of points; a gain has its minus. @param tag stands around a dimension that moved */
function Lost({ loss, tag }: { loss: EstimateDocument | undefined; tag?: 'b' | 'span' }) {
  if (loss === undefined) return DASH;
  const points = (value: number) => signed(value).replace('+', '');
  const { value, low, high } = loss;
  const hasMoved = low !== null && high !== null && (low > 0 || high < 0);
  const Tag = hasMoved ? tag : undefined;
  return (
    <>
      {Tag === undefined ? points(value) : <Tag class="moved">{points(value)}</Tag>}
      <span class="note under">{range(loss, points) ?? 'no interval'}</span>
    </>
  );
}

const LOOKS: Readonly<Record<Sight | Step['order'], string>> = {
  seen: 'good',
  kept: 'good',
  blind: 'bad',
  inverted: 'bad',
  undecided: 'soft',
};

function Word({ said }: { said: keyof typeof LOOKS }) {
  return <span class={LOOKS[said]}>{said}</span>;
}

type Help = ShownCalibration['help'];

/** What each damage costs, which dimensions moved, and whether the judge sees it. */
function DamageMatrix({ part: { losses }, help }: { part: CalibrationPart; help: Help }) {
  const rows = losses.map((loss) => ({
    cells: [
      variantName(loss.variant, help),
      <Word said={loss.sight} />,
      <Lost loss={loss} />,
      ...DIMENSIONS.map((name) => <Lost loss={loss.dimensions[name]} tag={loss.most === name ? 'b' : 'span'} />),
    ],
  }));
  const heads = ['Damage', 'Sight', 'Lost', ...DIMENSIONS.map(dimensionName)];
  return <Table look="matrix damages" label="Damages by dimensions" columns={figureColumns(heads)} rows={rows} />;
}

function variantName(variant: string, help: Help): ComponentChild {
  return [visible(variant), <small>{help[variant]}</small>];
}

/** Pairs of predictions of which one is better by construction, and how the judge rates them. */
function StepChart({ part: { steps } }: { part: CalibrationPart }) {
  const lines = steps.map((step) => ({
    name: [<span>{visible(`${step.better} >`)}</span>, ' ', <span>{visible(step.worse)}</span>],
    figure: step,
    cells: [`${(step.inverted * 100).toFixed(1)} %`, chance(decidingP(step)), <Word said={step.order} />],
  }));
  return <DifferenceChart first="Better > worse" heads={['Difference', 'Inverted', 'p', 'Order']} lines={lines} />;
}

/** How many points each trick in a prediction buys. */
function CanaryChart({ part: { canaries }, help }: { part: CalibrationPart; help: Help }) {
  const lines = canaries.map((figure) => ({
    name: variantName(figure.variant, help),
    figure,
    cells: [count(figure.rows)],
  }));
  return <DifferenceChart first="Trick" heads={['Bought', 'Rows']} lines={lines} />;
}

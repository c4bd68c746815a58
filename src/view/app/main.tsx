// The app: finds the page that the address names, and draws it under the way back to the others.

import { type ComponentChild, render } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { AgreementPage, PanelPage } from './pages/agreement.js';
import { CalibrationPage } from './pages/calibration.js';
import { ComparePage, GatePage } from './pages/compare.js';
import { CurvePage } from './pages/curve.js';
import { LeaderboardPage } from './pages/leaderboard.js';
import { RunPage } from './pages/run.js';
import { RunsPage } from './pages/runs.js';
import { SamplesPage } from './pages/samples.js';
import { EpisodesPage } from './pages/scenarios.js';
import { Failed, Loaded } from './parts.js';
import { href, type PageProps, START, useRoute } from './route.js';
import { SOURCE, useIndex } from './source.js';
import './style.css';
import './samples.css';

/** The pages by the first word of their address. */
const PAGES: Readonly<Record<string, (props: PageProps) => ComponentChild>> = {
  runs: RunsPage,
  run: RunPage,
  curve: CurvePage,
  episodes: EpisodesPage,
  compare: ComparePages,
  gate: GatePage,
  leaderboard: LeaderboardPage,
  calibration: CalibrationPage,
  panel: PanelPage,
  agreement: AgreementPage,
};

/** The pages over all runs. */
const NAV = [
  ['runs', 'Runs'],
  ['curve', 'Learning curve'],
  ['leaderboard', 'Leaderboard'],
] as const;

function ComparePages(props: PageProps) {
  const [, base = '', candidate = '', page] = props.route.path;
  return page === 'samples' ? <SamplesPage {...props} runRef={candidate} against={base} /> : <ComparePage {...props} />;
}

function App() {
  const route = useRoute();
  const index = useIndex();
  const [failure] = useErrorBoundary();
  useEffect(() => scrollTo(0, 0), [route.path.join('/')]);
  const Page = PAGES[route.path[0] ?? ''] ?? NoPage;
  return (
    <>
      <nav aria-label="Pages">
        <div class="wrap">
          <b>
            <a href={index.value?.runs.length === 0 ? `#${START}` : href(['runs'])}>AgentWorldBench</a>
          </b>
          {SOURCE !== 'inline' &&
            (index.value?.runs.length ?? 0) > 1 &&
            NAV.map(([path, name]) => (
              <a href={href([path])} aria-current={route.path[0] === path ? 'page' : undefined}>
                {name}
              </a>
            ))}
        </div>
      </nav>
      <main class="wrap" id="main" tabIndex={-1}>
        {index.value !== undefined && index.error !== undefined && <p class="warn">{index.error}</p>}
        {failure === undefined ? (
          <Loaded of={index}>{(value) => <Page index={value} route={route} />}</Loaded>
        ) : (
          <Failed reason={`The page failed: ${failure}. Reload it.`} />
        )}
      </main>
      <footer class="wrap">{index.value?.tool}</footer>
    </>
  );
}

function NoPage() {
  return <Failed reason="There is no page of this address." />;
}

const root = document.getElementById('app');
if (root !== null) render(<App />, root);

// The app: draws the page in the address, below the navigation.

import { type ComponentChild, render } from 'preact';
import { useEffect, useErrorBoundary } from 'preact/hooks';
import { ComparePage } from './pages/compare.js';
import { CurvePage } from './pages/curve.js';
import { RunPage } from './pages/run.js';
import { RunsPage } from './pages/runs.js';
import { Failed, Loaded } from './parts.js';
import { href, type PageProps, START, useRoute } from './route.js';
import { ShownPage } from './shown.js';
import { SOURCE, useIndex } from './source.js';
import './style.css';
import './samples.css';

/** The pages by the first word of their address. */
const PAGES: Readonly<Record<string, (props: PageProps) => ComponentChild>> = {
  runs: RunsPage,
  run: RunPage,
  curve: CurvePage,
  episodes: ({ route }) => <ShownPage name={`episodes/${route.path[1]}`} />,
  compare: ComparePage,
  gate: () => <ShownPage name="gate" />,
  leaderboard: () => <ShownPage name="leaderboard" />,
  calibration: ({ route }) => <ShownPage name={`calibration/${route.path[1]}`} />,
  panel: ({ route }) => <ShownPage name={`panel/${route.path[1]}`} />,
  agreement: () => <ShownPage name="agreement" />,
};

/** The pages over all runs. */
const NAV = [
  ['runs', 'Runs'],
  ['curve', 'Curves'],
  ['leaderboard', 'Leaderboard'],
] as const;

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
  return <Failed reason="There is no page at this address." />;
}

const root = document.getElementById('app');
if (root !== null) render(<App />, root);

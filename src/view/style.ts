// The look of all HTML pages: calm, light and dark, from a phone's width upwards.

export const STYLE = `
:root {
  color-scheme: light dark;
  --page: #fcfcfa; --panel: #f4f4f0; --ink: #1c1e20; --soft: #5d6369; --rule: #e2e2dc; --grid: #e9e9e4;
  --accent: #14666f; --other: #a8560f; --good: #1d6b3a; --bad: #a3341f;
  --add: #e3f3e6; --add-strong: #addfb8; --cut: #fbe7e3; --cut-strong: #f4b9ad; --mark: #858b90;
  --r1: #b5482f; --r2: #dd9768; --r3: #d8d3c4; --r4: #8bbab6; --r5: #2b7a78;
  --on-r1: #fff; --on-r2: #1c1e20; --on-r3: #1c1e20; --on-r4: #1c1e20; --on-r5: #fff;
  --mono: ui-monospace, "SF Mono", SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #14161a; --panel: #1c1f24; --ink: #e5e5e1; --soft: #a0a6ac; --rule: #2e3238; --grid: #272b31;
    --accent: #6fc3ca; --other: #e2a05f; --good: #7fcf97; --bad: #ee9482;
    --add: #14291c; --add-strong: #28603c; --cut: #321b18; --cut-strong: #763229; --mark: #7d848a;
    --r1: #b94f35; --r2: #bd7c4c; --r3: #5d5a51; --r4: #437572; --r5: #58b3ae;
    --on-r1: #fff; --on-r2: #101214; --on-r3: #fff; --on-r4: #fff; --on-r5: #101214;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; scroll-padding-top: 4rem; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 0.9375rem/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
[hidden] { display: none !important; }
a { color: var(--accent); text-decoration-thickness: 1px; text-underline-offset: 0.2em; }
:focus-visible { outline: 2px solid var(--accent); outline-offset: 2px; border-radius: 2px; }
h1:focus, h2:focus { outline: none; }
.skip { position: absolute; left: -99rem; }
.skip:focus { left: 1rem; top: 0.5rem; background: var(--page); padding: 0.5rem; z-index: 3; }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); white-space: nowrap; }
.wrap { max-width: 78rem; margin: 0 auto; padding: 0 1.5rem; }
nav { position: sticky; top: 0; z-index: 2; background: var(--page); border-bottom: 1px solid var(--rule); }
nav .wrap { display: flex; gap: 1.5rem; align-items: baseline; min-height: 3rem; }
nav b { font-weight: 600; margin-right: auto; overflow: hidden; text-overflow: ellipsis; white-space: nowrap; align-self: center; }
nav a { align-self: stretch; display: flex; align-items: center; color: var(--soft); text-decoration: none; border-bottom: 2px solid transparent; margin-bottom: -1px; }
#progress { color: var(--soft); align-self: center; white-space: nowrap; font-variant-numeric: tabular-nums; }
nav button { align-self: center; white-space: nowrap; }
nav a:hover { color: var(--ink); }
nav a[aria-current] { color: var(--ink); border-color: var(--accent); }
header { padding: 2.25rem 0 0.5rem; }
#samples header { padding: 1.75rem 0 0; }
h1 { font-size: 1.9rem; line-height: 1.2; letter-spacing: -0.015em; margin: 0 0 0.35rem; font-weight: 650; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; line-height: 1.3; margin: 0 0 0.25rem; font-weight: 620; letter-spacing: -0.005em; overflow-wrap: anywhere; }
h3 { font-size: 1rem; margin: 0 0 0.5rem; font-weight: 620; }
h4 { font-size: 0.8125rem; margin: 0.5rem 0 0.3rem; font-weight: 500; color: var(--soft); }
p { margin: 0 0 0.75rem; max-width: 46rem; }
.soft, .note, .range, .zero, footer, dl.key dt, .rate .name, .ratings dt, #begin label { color: var(--soft); }
.note, .range, footer, dl.key dt, .rate .name, .ratings dt, #begin label { font-size: 0.8125rem; }
.note { margin-bottom: 1rem; }
.by { color: var(--soft); display: flex; flex-wrap: wrap; gap: 0.1rem 1.25rem; margin: 0; max-width: none; }
.by span { overflow-wrap: anywhere; }
.by b { color: var(--ink); font-weight: 500; }
section.block { padding: 1.75rem 0 0.5rem; }
.pair { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 27rem), 1fr)); gap: 0 3rem; }
.warn { border-left: 3px solid var(--bad); padding: 0.1rem 0 0.1rem 0.9rem; margin: 1.25rem 0 0; }
.warn p { margin: 0.2rem 0; }
dl.key { display: grid; grid-template-columns: repeat(auto-fit, minmax(9.5rem, 1fr)); gap: 1.25rem 2rem; margin: 1.75rem 0 0; padding: 1.25rem 0; border-block: 1px solid var(--rule); }
dl.key div { display: flex; flex-direction: column; }
dl.key dd { margin: 0; }
dl.key .big { font-size: 1.75rem; line-height: 1.25; letter-spacing: -0.02em; font-weight: 600; font-variant-numeric: tabular-nums; }
dl.key .big small { font-size: 1rem; font-weight: 500; letter-spacing: 0; color: var(--soft); }
dl.key .under { color: var(--soft); font-size: 0.8125rem; font-variant-numeric: tabular-nums; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; width: 100%; font-variant-numeric: tabular-nums; }
th, td { padding: 0.3rem 0.6rem; text-align: left; vertical-align: baseline; }
th:first-child, td:first-child { padding-left: 0; }
th:last-child, td:last-child { padding-right: 0; }
thead th { color: var(--soft); font-weight: 500; font-size: 0.8125rem; vertical-align: bottom; }
thead th, thead td { border-bottom: 1px solid var(--rule); }
tbody th { font-weight: 500; }
td.n, th.n { text-align: right; white-space: nowrap; }
tr.group > th { color: var(--soft); font-weight: 500; padding-top: 0.9rem; }
tr.sum > * { border-top: 1px solid var(--rule); font-weight: 620; }
tr.sum .range, tr.sum small { font-weight: 400; }
dl.key .zero { color: inherit; }
.chart td.t { width: 60%; min-width: 9rem; padding-block: 0.1rem; vertical-align: middle; }
.chart th[scope=row] { white-space: nowrap; vertical-align: middle; }
.chart td.n { vertical-align: middle; }
svg { display: block; width: 100%; overflow: visible; }
svg.track { height: 1.75rem; }
svg.axis { height: 1.1rem; }
svg text { fill: var(--soft); font-size: 0.75rem; }
svg .grid { stroke: var(--grid); }
svg .zero-line, svg .limit { stroke: var(--mark); }
svg .reach { stroke: var(--accent); stroke-width: 2; stroke-linecap: round; }
svg .dot { fill: var(--accent); }
svg .other .reach { stroke: var(--other); }
svg .other .dot { fill: var(--page); stroke: var(--other); stroke-width: 2; }
.matrix th.n, .matrix td.n { min-width: 5.4rem; }
.matrix thead th { padding-bottom: 0.4rem; }
.matrix th[scope=row] { white-space: nowrap; }
.matrix .under, td .under { display: block; line-height: 1.3; }
th[scope=row] small { display: block; color: var(--soft); font-weight: 400; font-size: 0.8125rem; line-height: 1.3; }
.damages th[scope=row] { white-space: normal; min-width: 11rem; max-width: 18rem; }
.moved { color: var(--accent); }
b.moved { font-weight: 650; }
.limits { margin: 1.25rem 0 0; }
.curves { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(100%, 15rem), 1fr)); gap: 1.25rem 2.5rem; margin: 0 0 1.5rem; }
.curves figure { margin: 0; padding: 0 0 1.5rem 1.75rem; }
.curves figcaption { font-weight: 500; margin: 0 0 0.6rem -1.75rem; overflow-wrap: anywhere; }
.curves .sum figcaption { font-weight: 620; }
svg.curve { height: 8.5rem; }
svg.curve .end { text-anchor: end; } svg.curve .mid { text-anchor: middle; }
svg.curve .band { fill: var(--accent); fill-opacity: 0.13; }
svg.curve .bent { fill: none; stroke: var(--accent); stroke-width: 1.75; vector-effect: non-scaling-stroke; }
svg.curve .bent.other { stroke: var(--other); stroke-dasharray: 5 4; }
svg.curve svg { width: 100%; height: 100%; }
svg .limit { stroke-dasharray: 4 4; }
svg.stack { height: 1.35rem; overflow: hidden; border-radius: 3px; }
svg.stack text { text-anchor: middle; dominant-baseline: central; }
.f1 { fill: var(--r1); } .f2 { fill: var(--r2); } .f3 { fill: var(--r3); } .f4 { fill: var(--r4); } .f5 { fill: var(--r5); }
.o1 { fill: var(--on-r1); } .o2 { fill: var(--on-r2); } .o3 { fill: var(--on-r3); } .o4 { fill: var(--on-r4); } .o5 { fill: var(--on-r5); }
.legend { display: flex; flex-wrap: wrap; gap: 0.25rem 1.1rem; margin: 0 0 0.75rem; padding: 0; list-style: none; color: var(--soft); font-size: 0.8125rem; }
.legend svg { display: inline-block; width: 0.8rem; height: 0.8rem; vertical-align: -0.08rem; margin-right: 0.4rem; }
.legend svg.line { width: 1.6rem; }
.good { color: var(--good); } .bad { color: var(--bad); }
details > summary { cursor: pointer; padding: 0.45rem 0; font-weight: 500; width: fit-content; }
details > summary .soft { font-weight: 400; font-size: 0.8125rem; margin-left: 0.35rem; }
details { border-top: 1px solid var(--rule); }
details details { border-color: var(--grid); margin-left: 1rem; }
.folds { border-bottom: 1px solid var(--rule); margin-top: 1.5rem; }
pre {
  font: 0.8125rem/1.55 var(--mono); white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; margin: 0 0 1rem;
  background: var(--panel); border-radius: 4px; padding: 0.75rem 0.9rem; unicode-bidi: plaintext;
}
pre.tall { max-height: 32rem; overflow: auto; }
dl.facts { display: grid; grid-template-columns: max-content 1fr; gap: 0.2rem 1.25rem; margin: 0 0 1rem; }
dl.facts dt { color: var(--soft); white-space: nowrap; }
dl.facts dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
footer.wrap { padding-block: 2.5rem 3rem; }
form.filters { display: flex; flex-wrap: wrap; gap: 0.75rem 1rem; align-items: end; margin: 0 0 1.25rem; }
form.filters label { display: flex; flex-direction: column; gap: 0.2rem; font-size: 0.8125rem; color: var(--soft); }
select, button, textarea, input[type=search], input[type=text] {
  font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--rule); border-radius: 5px;
  padding: 0.35rem 0.6rem; min-height: 2.25rem; max-width: 100%;
}
button { cursor: pointer; }
button:hover:not(:disabled), select:hover, input[type=search]:hover { border-color: var(--mark); }
button:disabled { color: var(--mark); cursor: default; }
button.quiet { border: 0; background: none; color: var(--accent); padding: 0.2rem 0; min-height: 0; }
form.filters .search { flex: 1 1 14rem; max-width: 22rem; }
form.filters .search input { width: 100%; }
.keys kbd, dl.facts kbd { font: 0.75rem/1.3 var(--mono); border: 1px solid var(--rule); border-radius: 3px; padding: 0 0.3rem; margin-right: 0.2rem; color: var(--ink); }
.keys kbd:not(:first-child) { margin-left: 0.2rem; }
#sample .keys { margin: -0.75rem 0 1rem; }
#samples .keys { margin: 0 0 0.75rem; }
.status { display: flex; flex-wrap: wrap; gap: 0.5rem 1rem; align-items: center; justify-content: space-between; margin: 0.5rem 0; color: var(--soft); }
.status .pages { display: flex; gap: 0.5rem; align-items: center; }
.list td { border-bottom: 1px solid var(--grid); padding-block: 0.45rem; }
.list tr:hover td { background: var(--panel); }
.list td.note { max-width: 30rem; width: 40%; margin: 0; }
.list td.note span { display: -webkit-box; -webkit-box-orient: vertical; -webkit-line-clamp: 2; overflow: hidden; overflow-wrap: anywhere; }
.list a { font-weight: 500; white-space: nowrap; }
.pips { display: inline-flex; gap: 2px; }
.pip { display: inline-block; min-width: 1.35rem; text-align: center; border-radius: 3px; font-size: 0.8125rem; line-height: 1.35rem; padding: 0 0.2rem; }
.b1 { background: var(--r1); color: var(--on-r1); } .b2 { background: var(--r2); color: var(--on-r2); }
.b3 { background: var(--r3); color: var(--on-r3); } .b4 { background: var(--r4); color: var(--on-r4); } .b5 { background: var(--r5); color: var(--on-r5); }
.b0 { background: var(--panel); color: var(--soft); }
.chip { display: inline-block; border: 1px solid var(--rule); border-radius: 99px; padding: 0 0.6rem; font-size: 0.8125rem; line-height: 1.5rem; margin: 0 0.35rem 0.2rem 0; overflow-wrap: anywhere; }
.chip.fail { border-color: var(--bad); color: var(--bad); }
.path { display: flex; flex-wrap: wrap; gap: 0.5rem 1.25rem; align-items: baseline; padding: 1.25rem 0 1rem; }
.path .soft { margin-left: auto; }
.ratings { display: grid; grid-template-columns: repeat(auto-fit, minmax(7rem, 1fr)); gap: 0.5rem 1.5rem; margin: 1rem 0 1.5rem; }
.ratings div { border-top: 1px solid var(--rule); padding-top: 0.4rem; }
.ratings dd { margin: 0; display: flex; gap: 0.5rem; align-items: baseline; font-size: 1.15rem; font-weight: 600; font-variant-numeric: tabular-nums; }
.ratings dd .soft { font-size: 0.8125rem; font-weight: 400; }
.tools { display: flex; flex-wrap: wrap; gap: 0.4rem 1.25rem; align-items: center; margin: 0.25rem 0 0.6rem; font-size: 0.875rem; }
.tools h3 { margin: 0 auto 0 0; }
.tools label { display: inline-flex; gap: 0.4rem; align-items: center; min-height: 1.75rem; }
.tools input { accent-color: var(--accent); width: 1rem; height: 1rem; margin: 0; }
.diff { border: 1px solid var(--rule); border-radius: 5px; overflow: hidden; table-layout: fixed; font: 0.8125rem/1.5 var(--mono); margin-bottom: 1.5rem; }
.diff thead th { font: 500 0.8125rem/1.4 system-ui, sans-serif; background: var(--panel); padding: 0.4rem 0.6rem; }
.diff td { padding: 0 0.6rem; white-space: pre-wrap; overflow-wrap: anywhere; tab-size: 4; vertical-align: top; unicode-bidi: plaintext; text-align: start; }
.diff td:nth-child(2) { border-right: 1px solid var(--rule); }
.diff col.g { width: 4.25rem; }
.diff td.g { padding: 0 0.4rem 0 0.2rem; text-align: right; color: var(--mark); user-select: none; white-space: nowrap; }
.diff .cut { background: var(--cut); } .diff .add { background: var(--add); }
.diff .cut.g { color: var(--bad); } .diff .add.g { color: var(--good); }
.diff del, .diff ins { text-decoration: none; border-radius: 2px; }
.diff del { background: var(--cut-strong); } .diff ins { background: var(--add-strong); }
.diff .none { background: var(--panel); }
.diff .fold td { background: var(--panel); font-family: system-ui, sans-serif; padding: 0.1rem 0.6rem; white-space: normal; border: 0; }
.tab, .sp { position: relative; }
.ws .tab::before { content: "\\2192"; position: absolute; left: 0; color: var(--mark); }
.ws .sp { background-image: radial-gradient(circle at center, var(--mark) 0.08em, transparent 0.1em); background-size: 1ch 1.1em; background-position: 0 0.12em; background-repeat: repeat; }
.ctl { color: var(--bad); border: 1px solid currentColor; border-radius: 2px; font-size: 0.75em; padding: 0 0.15em; unicode-bidi: isolate; }
.verdicts { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 22rem), 1fr)); gap: 0.5rem 3rem; }
section.judge { margin-top: 1.75rem; }
details.sample > summary { font-weight: 400; }
.verdicts ul { margin: 0 0 1rem; padding-left: 1.1rem; }
.verdicts li { margin-bottom: 0.3rem; overflow-wrap: anywhere; }
#begin { margin: 1.25rem 0; }
#begin input { width: 18rem; height: auto; }
.panel { position: sticky; bottom: 0; z-index: 2; background: var(--page); border-top: 1px solid var(--rule); }
.panel .wrap { padding-block: 0.6rem 0.7rem; }
.rate { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 0.25rem 1.25rem; }
.rate > div { border-top: 2px solid transparent; padding-top: 0.3rem; }
.rate > div.current { border-color: var(--accent); }
.rate .name { display: block; }
.rate .current .name { color: var(--ink); font-weight: 600; }
.rate .five { display: flex; gap: 0.25rem; }
.rate button { flex: 1; min-width: 0; padding: 0; font-variant-numeric: tabular-nums; }
.rate button[aria-pressed=true] { background: var(--accent); border-color: var(--accent); color: var(--page); font-weight: 650; }
.ask { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: center; margin-top: 0.45rem; font-size: 0.8125rem; color: var(--soft); }
.ask [role=status] { margin-right: auto; }
.ask textarea { flex: 1 1 14rem; max-width: 26rem; height: 2.25rem; font-size: 0.8125rem; resize: vertical; }
#sample .folds + h3 { margin-top: 1.25rem; }
.verdict { border-left: 3px solid var(--accent); padding-left: 1rem; margin: 1.5rem 0; }
table.board { margin: 0.75rem 0 0.5rem; }
.board th, .board td { vertical-align: top; }
.board thead th { vertical-align: bottom; }
.board th[scope=row] { position: sticky; left: 0; background: var(--page); min-width: 9rem; max-width: 17rem; overflow-wrap: break-word; }
.board tbody tr:not(.group):hover > * { background: var(--panel); }
.board tbody tr:not(.group) > * { border-bottom: 1px solid var(--grid); }
.board td { white-space: nowrap; }
.board td strong { color: var(--good); font-weight: 650; }
.board td small { display: block; color: var(--soft); font-size: 0.6875rem; line-height: 1.35; }
.board td.none { color: var(--mark); }
.board tr.group th { color: var(--soft); font-weight: 500; font-size: 0.8125rem; padding: 1.5rem 0 0.4rem; border-bottom: 1px solid var(--rule); }
ul.notes { color: var(--soft); font-size: 0.8125rem; margin: 0.75rem 0 0; padding-left: 1.1rem; max-width: 60rem; }
ul.notes li { margin-bottom: 0.25rem; overflow-wrap: anywhere; }
@media (max-width: 44rem) {
  .board, .board tbody { display: block; }
  .board thead { display: none; }
  .board tbody tr { display: grid; grid-template-columns: repeat(4, minmax(0, 1fr)); gap: 0.5rem 0.6rem; padding: 0.75rem 0; border-bottom: 1px solid var(--rule); }
  .board tbody tr:not(.group) > * { border: 0; padding: 0; text-align: left; }
  .board th[scope=row] { position: static; grid-column: 1 / -1; max-width: none; }
  .board td { white-space: normal; overflow-wrap: anywhere; }
  .board td.none { display: none; }
  .board td::before { content: attr(data-label); display: block; color: var(--soft); font-size: 0.6875rem; }
  .board td small { font-size: 0.625rem; white-space: nowrap; letter-spacing: -0.02em; }
  .board tr.group { display: block; }
  .board tr.group th { display: block; border: 0; padding: 0.75rem 0 0; }
  .wrap { padding: 0 1rem; }
  header { padding-top: 1.5rem; }
  h1 { font-size: 1.5rem; }
  nav .wrap { gap: 0.75rem; }
  dl.key { grid-template-columns: repeat(2, 1fr); gap: 1rem; }
  dl.key .big { font-size: 1.4rem; }
  .chart, .chart thead, .chart tbody { display: block; }
  .chart tr { display: grid; grid-template-columns: minmax(0, 1fr) 3.5rem 8.5rem; padding: 0.3rem 0; align-items: baseline; }
  .chart tr > * { padding: 0; border: 0; }
  .chart tbody tr, .chart thead tr { border-bottom: 1px solid var(--grid); }
  .chart td.t { grid-column: 1 / -1; grid-row: 2; width: auto; min-width: 0; padding: 0 0.35rem; }
  .chart th[scope=row] { white-space: normal; overflow-wrap: anywhere; }
  .chart.one tr { grid-template-columns: minmax(0, 1fr) 3.5rem; }
  .wide { display: none; }
  .curves { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 1rem 0.75rem; }
  .damages th[scope=row] { min-width: 8.5rem; max-width: 9.5rem; overflow-wrap: anywhere; }
  .curves .sum { grid-column: 1 / -1; }
  .curves figure:not(.sum) svg { height: 6.5rem; }
  form.filters { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); }
  form.filters select { width: 100%; }
  form.filters .search { grid-column: 1 / -1; max-width: none; }
  .keys { display: none; }
  .list, .list tbody, .list tr { display: block; }
  .list thead { position: absolute; clip-path: inset(50%); }
  .list tr { display: flex; flex-wrap: wrap; gap: 0.25rem 0.9rem; padding: 0.65rem 0; border-bottom: 1px solid var(--grid); align-items: baseline; }
  .list td { border: 0; padding: 0; }
  .list td:empty { display: none; }
  .list td.note { width: 100%; max-width: none; }
  .diff, .diff tbody { display: block; }
  .diff thead { display: none; }
  .diff tr { display: grid; grid-template-columns: 3rem minmax(0, 1fr); }
  .diff tr.fold { display: block; }
  .diff tr.fold td { display: block; }
  .diff td.g { width: auto; }
  .diff td:nth-child(2) { border-right: 0; }
  .diff tr.same td:nth-child(n + 3), .diff td.none { display: none; }
  .path .soft { margin-left: 0; width: 100%; }
  .panel { position: static; }
  .rate { grid-template-columns: minmax(0, 1fr); gap: 0.35rem; }
  .rate > div { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); align-items: center; border-top: 0; border-left: 2px solid transparent; padding: 0 0 0 0.5rem; }
}
@media print { nav, form, .tools label { display: none; } .scroll { overflow: visible; } }
`;

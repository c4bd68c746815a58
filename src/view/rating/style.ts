// What the page for raters looks like beyond the other pages.

export const RATING_STYLE = `
#progress { color: var(--soft); align-self: center; white-space: nowrap; font-variant-numeric: tabular-nums; }
nav button { align-self: center; white-space: nowrap; }
input[type=text], textarea {
  font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--rule); border-radius: 5px;
  padding: 0.35rem 0.6rem; min-height: 2.25rem; max-width: 100%;
}
#begin { margin: 1.25rem 0; }
#begin label { color: var(--soft); font-size: 0.8125rem; }
#begin input { width: 18rem; accent-color: auto; height: auto; }
dl.facts dt { white-space: nowrap; }
dl.facts kbd { font: 0.75rem/1.3 var(--mono); border: 1px solid var(--rule); border-radius: 3px; padding: 0 0.3rem; margin-right: 0.2rem; color: var(--ink); }
.panel { position: sticky; bottom: 0; z-index: 2; background: var(--page); border-top: 1px solid var(--rule); }
.panel .wrap { padding-block: 0.6rem 0.7rem; }
.rate { display: grid; grid-template-columns: repeat(5, minmax(0, 1fr)); gap: 0.25rem 1.25rem; margin: 0; padding: 0; border: 0; }
.rate > div { border-top: 2px solid transparent; padding-top: 0.3rem; }
.rate > div.current { border-color: var(--accent); }
.rate .name { display: block; font-size: 0.8125rem; color: var(--soft); }
.rate .current .name { color: var(--ink); font-weight: 600; }
.rate .five { display: flex; gap: 0.25rem; }
.rate button { flex: 1; min-width: 0; padding: 0; font-variant-numeric: tabular-nums; }
.rate button[aria-pressed=true] { background: var(--accent); border-color: var(--accent); color: var(--page); font-weight: 650; }
.panel .ask { display: flex; flex-wrap: wrap; gap: 0.25rem 1.25rem; align-items: center; margin-top: 0.45rem; font-size: 0.8125rem; color: var(--soft); }
.panel .ask [role=status] { margin-right: auto; }
.panel .ask textarea { flex: 1 1 14rem; max-width: 26rem; height: 2.25rem; font-size: 0.8125rem; resize: vertical; }
#sample .folds + h3 { margin-top: 1.25rem; }
.verdict { border-left: 3px solid var(--accent); padding-left: 1rem; margin: 1.5rem 0; }
.verdict h3:focus { outline: none; }
@media (max-width: 44rem) {
  nav .wrap { gap: 0.75rem; }
  .panel { position: static; }
  .rate { grid-template-columns: minmax(0, 1fr); gap: 0.35rem; }
  .rate > div { display: grid; grid-template-columns: 6.5rem minmax(0, 1fr); align-items: center; border-top: 0; border-left: 2px solid transparent; padding: 0 0 0 0.5rem; }
  dl.facts.keys { display: none; }
}
`;

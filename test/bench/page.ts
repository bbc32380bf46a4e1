/** The row "page": frames of the page in Chromium while an answer streams below 2,500 loaded turns. */
import type { Page } from 'playwright-core';
import { launch, openPage, signIn, write } from '../channels/http/page/browser/browser.ts';
import { connect } from '../crash/rows.ts';
import { BENCH_TOKEN } from './children.ts';
import { type Figure, median, quantile } from './figures.ts';
import { type RunningGateway, sessionAsker } from './gateway-setup.ts';
import { chromiumPath } from '../runs/needs.ts';

const TURNS = 2_500;
const TOKENS = 600;
const TOKENS_PER_SECOND = 50;
const SESSION = 'long-read';
const VIEWPORT = { viewport: { width: 1_100, height: 800 } };

/** What the page records about its frames, in milliseconds. */
interface Recorded {
  /** From one frame to the next. */
  gaps: number[];
  /** Time for script, layout and paint of a frame. */
  work: number[];
  /** Tasks longer than 50 ms. */
  long: number[];
}

/** A typical model answer: a paragraph, a list, and sometimes code or a table. */
function answerText(nth: number): string {
  const prose =
    `Answer ${nth} has **some words** that people read, with \`code\` and a [link](https://example.org/${nth}). `.repeat(
      3,
    );
  const list = '- the first point\n- the second point, which is a little longer\n- the third point';
  const code = '```js\nconst sum = (a, b) => a + b;\nconsole.log(sum(1, 2));\n```';
  const rows = '| name | value |\n|---|---|\n| one | 1 |\n| two | 2 |';
  const more = nth % 5 === 0 ? [code] : nth % 7 === 0 ? [rows] : [];
  return [prose, list, ...more, 'And a last line.'].join('\n\n');
}

/** Frames while 600 tokens stream; undefined figures where there is no browser. */
export async function pageFrames(gateway: RunningGateway): Promise<Figure[]> {
  const chromium = chromiumPath();
  if (chromium === undefined) return [];
  await seedTurns(gateway);
  const browser = await launch(chromium);
  try {
    const { page } = await openPage(browser, `${gateway.gateway.url}/#http:${SESSION}`, VIEWPORT);
    await signIn(page, BENCH_TOKEN);
    const loadedMs = await loadAll(page);
    const { gaps, work, long } = await streamOne(page);
    const attached = await page.locator('.turn').count();
    const note = `${gaps.length} frames, median ${median(gaps).toFixed(1)} ms, longest ${Math.max(...gaps).toFixed(0)} ms; ${long.length} tasks above 50 ms; ${attached} turns attached`;
    const on = gateway.on;
    return [
      {
        what: `page: frame of ${TURNS} turns, p95`,
        on,
        value: quantile(gaps, 0.95),
        unit: 'ms',
        bar: { atMost: 25 },
        note,
      },
      { what: 'page: work of a frame, p95', on, value: quantile(work, 0.95), unit: 'ms' },
      { what: `page: all ${TURNS} turns loaded by scrolling`, on, value: loadedMs / 1_000, unit: 's' },
    ];
  } finally {
    await browser.close();
  }
}

/** Writes the turns directly into the tables: asking for each would take minutes. */
async function seedTurns(gateway: RunningGateway): Promise<void> {
  const first = await sessionAsker(gateway, SESSION, 'say 5');
  await first.ask();
  first.close();
  const sql = connect(gateway.place);
  try {
    const key = `http:${SESSION}`;
    const rows = Array.from({ length: TURNS - 1 }, (_, index) => ({
      nth: index + 2,
      text: answerText(index + 2),
    }));
    await sql.begin(async (all) => {
      await all`
        with t as (select * from jsonb_to_recordset(${JSON.stringify(rows)}::text::jsonb) as t(nth int, text text)),
        turns as (
          insert into turn (id, session, address, lane_seq, state, reason, user_seq, final_seq, ended_at)
          select 'bench-' || nth, ${key}, ${key}, nth, 'done', 'completed', nth * 2 - 1, nth * 2, now() from t)
        insert into message (session, seq, turn_id, role, content)
        select ${key}, nth * 2 - 1, 'bench-' || nth, 'user', 'Question ' || nth from t union all
        select ${key}, nth * 2, 'bench-' || nth, 'assistant', text from t`;
      await all`update session set message_seq = ${TURNS * 2} where key = ${key}`;
      await all`update lane set head = ${TURNS}, tail = ${TURNS} where key = ${`in:${key}`}`;
    });
  } finally {
    await sql.end();
  }
}

/** Scrolls back until the first message is visible; returns the milliseconds. */
async function loadAll(page: Page): Promise<number> {
  await page.getByText(`Question ${TURNS}`, { exact: true }).waitFor();
  const began = performance.now();
  await page.evaluate(`(async () => {
    const scroller = document.getElementById('scroller');
    const earlier = document.querySelector('.earlier');
    while (!earlier.hidden) {
      scroller.scrollTop = 0;
      await new Promise((resolve) => requestAnimationFrame(resolve));
    }
  })()`);
  const took = performance.now() - began;
  await page.getByText('say 5', { exact: true }).first().waitFor({ state: 'attached' });
  await page.locator('#to-bottom').click();
  return took;
}

/**
 * Asks for the long answer and records frames from its first token to its last. The page itself reports when: a wait
 * from here would search all of it at every frame.
 */
async function streamOne(page: Page): Promise<Recorded> {
  await write(page, `pace ${TOKENS_PER_SECOND} ${TOKENS}`);
  return await page.evaluate<Recorded>(`new Promise((resolve) => {
    const recorded = { gaps: [], work: [], long: [] };
    new PerformanceObserver((list) => recorded.long.push(...list.getEntries().map(({ duration }) => duration)))
      .observe({ type: 'longtask' });
    const stop = document.getElementById('stop');
    const painted = new MessageChannel();
    painted.port1.onmessage = ({ data }) => recorded.work.push(performance.now() - data);
    let before;
    const frame = (now) => {
      if (before !== undefined) recorded.gaps.push(now - before);
      if (before !== undefined && stop.hidden) return resolve(recorded);
      if (document.getElementById('transcript').lastElementChild.lastElementChild.querySelector('.md') !== null) before = now;
      painted.port2.postMessage(performance.now());
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  })`);
}

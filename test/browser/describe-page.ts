/** What the files of page tests live in: one browser for a file, a visit for each test, and a gateway in memory to visit. */
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Browser, BrowserContextOptions, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, vi } from 'vitest';
import { openApi } from '../channels/http/client.ts';
import type { OpenApi } from '../channels/http/client.ts';
import type { FakeTurn } from '../fakes/gateway/turn.ts';
import { announceSkip, findChromium, launch, signIn, visit, WAIT, write } from './browser.ts';
import type { Visit } from './browser.ts';

/** The token of the owner of a gateway in memory. */
export const TOKEN = 'admin-token-of-the-owner';
/** A narrow screen, at night. */
export const PHONE: BrowserContextOptions = {
  viewport: { width: 390, height: 780 },
  colorScheme: 'dark',
};

/** How somebody comes: with a token they sign in. */
export type Arrival = BrowserContextOptions & { token?: string | undefined };

/** Who looks at the page: one visit at a time, which ends with its test and must not have complained of anything. */
export interface Guest {
  /** The page of the newest visit. Throws before the first. */
  readonly page: Page;
  /** Leaves what was visited before, and opens the page as somebody who was never there. */
  enter(url: string, arrival?: Arrival): Promise<Page>;
  /** A picture of what is seen, in the folder `PARLEY_SCREENSHOTS`, where somebody wants to look. */
  look(name: string): Promise<void>;
}

/** Tests in a real browser; without one they are skipped, loudly. */
export function describePage(name: string, tests: (guest: Guest) => void): void {
  const path = findChromium();
  if (path === undefined) announceSkip();
  describe.skipIf(path === undefined)(`${name}, in a browser`, () => {
    let browser: Browser;
    let visited: Visit | undefined;
    const leave = async (): Promise<void> => {
      const left = visited;
      visited = undefined;
      await left?.page.context().close();
      if (left !== undefined && left.complaints.length > 0) throw new Error(left.complaints.join('\n'));
    };
    beforeAll(async () => {
      browser = await launch(path ?? '');
    });
    afterAll(() => browser.close());
    afterEach(leave);
    tests({
      get page() {
        if (visited === undefined) throw new Error('nobody has entered yet');
        return visited.page;
      },
      async enter(url, { token, ...context } = {}) {
        await leave();
        visited = await visit(browser, url, context);
        if (token !== undefined) await signIn(visited.page, token);
        return visited.page;
      },
      async look(picture) {
        const folder = process.env['PARLEY_SCREENSHOTS'];
        if (folder !== undefined) await visited?.page.screenshot({ path: `${folder}/${picture}.png` });
      },
    });
  });
}

/** A gateway in memory behind a real HTTP channel, anew for each test. */
export interface Visited {
  readonly api: OpenApi;
  /** Turns that began, oldest first; the test drives them. */
  readonly turns: FakeTurn[];
  /** Comes in as the owner. */
  enter(context?: BrowserContextOptions): Promise<Page>;
  /** Sends a message; gives its turn when it runs and the page listens. */
  ask(text: string): Promise<FakeTurn>;
}

/** Tests of the page before a gateway in memory; each comes in by itself. */
export function describeEntrance(name: string, tests: (guest: Guest, at: Visited) => void): void {
  describePage(name, (guest) => {
    let api: OpenApi;
    let turns: FakeTurn[];
    beforeEach(async () => {
      // A port of its own: some servers close and must come back at the same address.
      api = await openApi({ port: await freePort() });
      turns = [];
      api.gateway.script = (turn) => void turns.push(turn);
    });
    afterEach(() => api.close());
    tests(guest, {
      get api() {
        return api;
      },
      get turns() {
        return turns;
      },
      enter: (context = {}) => guest.enter(api.url, { ...context, token: TOKEN }),
      async ask(text) {
        const before = turns.length;
        await write(guest.page, text);
        await vi.waitFor(() => expect(turns.length).toBe(before + 1), WAIT);
        await vi.waitFor(() => expect(api.gateway.events.listeners.size).toBe(1), WAIT);
        return turns[before]!;
      },
    });
  });
}

/** A port nobody listens on now. */
async function freePort(): Promise<number> {
  const probe = createServer();
  await new Promise<void>((resolve) => probe.listen(0, '127.0.0.1', resolve));
  const { port } = probe.address() as AddressInfo;
  await new Promise((resolve) => probe.close(resolve));
  return port;
}

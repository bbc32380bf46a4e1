/** Questions in a real browser: shown with what would run, answered once, gone when somebody else was faster. */
import type { Browser, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it, vi } from 'vitest';
import type { ApprovalRecord } from '../../src/approvals.ts';
import type { ApprovalDecision } from '../../src/records.ts';
import { openDoor } from '../channels/http-client.ts';
import type { OpenDoor } from '../channels/http-client.ts';
import type { FakeTurn } from '../fakes/fake-turn.ts';
import { announceSkip, findChromium, launch, signIn, visit, WAIT, write } from './browser.ts';

const TOKEN = 'admin-token-of-the-owner';
const chromiumPath = findChromium();
if (chromiumPath === undefined) announceSkip();

function question(turn: FakeTurn, id: string, command: string): ApprovalRecord {
  const session = `http:${turn.message.chatId}` as const;
  return {
    id,
    session,
    address: session,
    turnId: turn.id,
    callKey: `${turn.id}.1.0`,
    toolCallId: 'c',
    tool: 'exec',
    args: { command },
    digest: 'd',
    warning: 'It deletes files.',
    userId: 'token:admin',
    state: 'pending',
    createdAt: new Date(),
    expiresAt: new Date(Date.now() + 3_600_000),
    expired: false,
  };
}

describe.skipIf(chromiumPath === undefined)('questions on the page', () => {
  let browser: Browser;
  let door: OpenDoor;
  let page: Page;
  let complaints: string[];
  let turns: FakeTurn[];
  let decided: [string, ApprovalDecision][];

  beforeAll(async () => {
    browser = await launch(chromiumPath ?? '');
  });
  afterAll(() => browser.close());
  beforeEach(async () => {
    door = await openDoor();
    turns = [];
    decided = [];
    door.house.script = (turn) => void turns.push(turn);
    door.house.decide = async (_caller, id, decision) => {
      decided.push([id, decision]);
      door.house.waiting = door.house.waiting.filter((one) => one.id !== id);
      return { kind: 'decided', decision };
    };
    ({ page, complaints } = await visit(browser, door.url));
    await signIn(page, TOKEN);
  });
  afterEach(async () => {
    await page.context().close();
    await door.close();
    if (complaints.length > 0) throw new Error(complaints.join('\n'));
  });

  const look = async (name: string): Promise<void> => {
    const folder = process.env['PARLEY_SCREENSHOTS'];
    if (folder !== undefined) await page.screenshot({ path: `${folder}/${name}.png` });
  };

  async function asked(id: string, command: string): Promise<FakeTurn> {
    await write(page, 'clean up');
    await vi.waitFor(() => expect(turns).toHaveLength(1), WAIT);
    await vi.waitFor(() => expect(door.house.events.listeners.size).toBe(1), WAIT);
    const turn = turns[0]!;
    door.house.waiting = [question(turn, id, command)];
    turn.emit({ type: 'approval_needed', approvalId: id, warningMessage: 'It deletes files.' });
    await page.getByText('May I do this?').waitFor();
    return turn;
  }

  it('shows what would run and why, also after a reload, and sends the answer once (S-37)', async () => {
    await asked('q1', 'rm -rf "<img src=x onerror=alert(1)>\u202e"');
    await page.getByText('It deletes files.').waitFor();
    expect(await page.locator('.approval pre').textContent()).toContain(
      String.raw`rm -rf \"<img src=x onerror=alert(1)>\u{202e}\"`,
    );
    await look('approval');
    await page.reload();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('May I do this?').waitFor({ state: 'detached' });
    expect(decided).toEqual([['q1', 'approved']]);
  });

  it('takes a no, and lets go of a question that was decided elsewhere', async () => {
    const turn = await asked('q2', 'rm a');
    await page.getByRole('button', { name: 'Deny' }).click();
    await page.getByText('May I do this?').waitFor({ state: 'detached' });
    expect(decided).toEqual([['q2', 'denied']]);
    door.house.waiting = [question(turn, 'q3', 'rm b')];
    turn.emit({ type: 'approval_needed', approvalId: 'q3' });
    await page.getByText('rm b').waitFor();
    door.house.waiting = [];
    turn.emit({ type: 'approval_decided', approvalId: 'q3', decision: 'approved' });
    await page.getByText('rm b').waitFor({ state: 'detached' });
    expect(decided).toHaveLength(1);
  });
});

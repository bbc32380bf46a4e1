/** Approvals in a real browser: shown with the call they are about, decided once, removed when decided elsewhere. */
import { beforeEach, expect, it } from 'vitest';
import type { ApprovalRecord, DecisionDetail } from '../../../../../../src/protocol/agent/approvals.ts';
import type { ApprovalDecision } from '../../../../../../src/protocol/store/records.ts';
import { pendingApproval } from '../../../../../fakes/gateway/pending-approval.ts';
import type { FakeTurn } from '../../../../../fakes/gateway/turn.ts';
import { objections } from '../../browser/axe.ts';
import { WAIT } from '../../browser/browser.ts';
import { describePageOnFakeGateway } from '../../browser/describe-page.ts';

describePageOnFakeGateway('approvals on the page', (tab, fixture) => {
  let decided: [string, ApprovalDecision][];
  let details: DecisionDetail[];
  beforeEach(async () => {
    decided = [];
    details = [];
    fixture.api.gateway.decide = async (_caller, id, decision, detail = {}) => {
      decided.push([id, decision]);
      details.push(detail);
      fixture.api.gateway.pendingApprovals = fixture.api.gateway.pendingApprovals.filter(
        (one) => one.id !== id,
      );
      return { kind: 'decided', decision };
    };
    await fixture.open();
  });

  async function requestApproval(id: string, command: string): Promise<FakeTurn> {
    const turn = await fixture.ask('clean up');
    fixture.api.gateway.pendingApprovals = [pendingApproval(turn, id, command)];
    turn.emit({ type: 'approval_needed', approvalId: id, warningMessage: 'It deletes files.' });
    await tab.page.getByText('May I do this?').waitFor();
    return turn;
  }

  it('are visible from every other chat: in the title, in the inbox, where they are decided, and lead to their chat', async () => {
    const turn = await requestApproval('q9', 'rm -rf far-away');
    await tab.page.getByRole('button', { name: 'New chat' }).click();
    await tab.page.getByRole('button', { name: 'Waiting for you: 1' }).click();
    await expect.poll(() => tab.page.title()).toBe('(1) Parley');
    const inbox = tab.page.getByRole('dialog', { name: 'Waiting for you' });
    await inbox.getByText('rm -rf far-away').waitFor();
    await tab.screenshot('inbox');
    await inbox.getByRole('button', { name: 'In “clean up”' }).click();
    await tab.page.locator('#approvals').getByText('rm -rf far-away').waitFor();
    await tab.page.getByRole('button', { name: 'Waiting for you: 1' }).click();
    await inbox.getByRole('button', { name: 'Deny' }).click();
    turn.emit({ type: 'approval_decided', approvalId: 'q9', decision: 'denied' });
    await expect.poll(() => tab.page.title()).toBe('clean up · Parley');
    expect(decided).toEqual([['q9', 'denied']]);
  });

  it('of plans are answered in the inbox: the next step is run, a paused plan resumes', async () => {
    const acted: unknown[] = [];
    fixture.api.gateway.actOnPlan = async (_caller, planId, action, stepId) => {
      acted.push([planId, action, stepId]);
      fixture.api.gateway.pendingApprovals = fixture.api.gateway.pendingApprovals.slice(1);
      return { done: true, text: 'It goes on.' };
    };
    const turn = await fixture.ask('plan it');
    const waiting = (id: string, wait: 'step' | 'pause'): ApprovalRecord => ({
      ...pendingApproval(turn, id, ''),
      plan: { id: `plan-${id}`, stepId: 's1', wait },
    });
    fixture.api.gateway.pendingApprovals = [waiting('p1', 'step'), waiting('p2', 'pause')];
    turn.emit({ type: 'approval_needed', approvalId: 'p1' });
    await tab.page.getByRole('button', { name: 'Waiting for you: 2' }).click();
    const inbox = tab.page.getByRole('dialog', { name: 'Waiting for you' });
    await tab.screenshot('inbox-plans');
    await inbox.getByRole('button', { name: 'Run' }).click();
    await inbox.getByRole('button', { name: 'Run' }).waitFor({ state: 'detached' });
    await inbox.getByRole('button', { name: 'Resume' }).click();
    await inbox.waitFor({ state: 'hidden' });
    expect(acted).toEqual([
      ['plan-p1', 'run', 's1'],
      ['plan-p2', 'resume', 's1'],
    ]);
  });

  it('are shown without buttons to a token that may not decide them, and its menu offers only what it may use', async () => {
    fixture.api.gateway.tokens.set('Bearer admin-token-of-the-owner', { tokenId: 'admin', scopes: ['chat'] });
    await tab.page.reload();
    await requestApproval('q0', 'rm -rf old');
    await tab.page.getByText('Your token is not allowed to decide this.').waitFor();
    expect(await tab.page.getByRole('button', { name: 'Approve' }).count()).toBe(0);
    await tab.page.getByLabel('Message', { exact: true }).fill('/');
    await expect.poll(() => tab.page.locator('#command-menu .command').count()).toBe(1);
  });

  it('show what would run and why, even after a reload, and send the decision once (S-37)', async () => {
    await requestApproval('q1', 'rm -rf "<img src=x onerror=alert(1)>\u202e"');
    await tab.page.getByText('It deletes files.').waitFor();
    await expect
      .poll(() => tab.page.locator('.approval pre').textContent(), WAIT)
      .toContain(String.raw`rm -rf "<img src=x onerror=alert(1)>\u{202e}"`);
    await tab.screenshot('approval');
    await tab.page.reload();
    await tab.page.getByRole('button', { name: 'Approve' }).click();
    await tab.page.getByText('May I do this?').waitFor({ state: 'detached' });
    expect(decided).toEqual([['q1', 'approved']]);
  });

  it('show the files that the call names, with their text if it is short', async () => {
    const turn = await fixture.ask('build it');
    const named = [
      { path: 'build.sh', bytes: 9, sha256: 'a'.repeat(64), text: 'echo <b>\u202e' },
      { path: 'big.bin', bytes: 9_000_000, sha256: 'b'.repeat(64) },
      { path: 'long.sh', namedIn: 'build.sh', bytes: 70_000, sha256: 'c'.repeat(64) },
      { path: 'run', problem: '"run" is a link; only plain files and folders are used.' },
    ];
    fixture.api.gateway.pendingApprovals = [{ ...pendingApproval(turn, 'q4', 'sh build.sh'), files: named }];
    turn.emit({ type: 'approval_needed', approvalId: 'q4' });
    await tab.page.getByText('May I do this?').waitFor();
    const shown = await tab.page.locator('.approval').textContent();
    expect(shown).toContain(`build.sh, 9 bytes, SHA-256 ${'a'.repeat(64)}echo <b>\\u{202e}`);
    expect(shown).toContain('big.bin, 9000000 bytes');
    expect(shown).toContain('Named in build.sh: long.sh, 70000 bytes');
    expect(shown).toContain('run, which cannot be shown. "run" is a link');
  });

  it('show a command as code, a changed file as a diff, and fold what is long', async () => {
    const turn = await fixture.ask('change it');
    const long = Array.from({ length: 200 }, (_, n) => `line ${n}`).join('\n');
    const asks = (
      id: string,
      tool: string,
      args: unknown,
      more: Partial<ApprovalRecord> = {},
    ): ApprovalRecord => ({
      ...pendingApproval(turn, id, ''),
      tool,
      args,
      ...more,
    });
    fixture.api.gateway.pendingApprovals = [
      asks('a1', 'exec', { argv: ['grep', '-r', "it's here", 'src'], timeout_seconds: 30 }),
      asks('a2', 'edit_file', { path: 'notes.txt', old_text: 'one\ntwo', new_text: 'one\nthree' }),
      asks(
        'a3',
        'write_file',
        { path: 'plan.txt', content: 'a\nc' },
        {
          files: [{ path: 'plan.txt', bytes: 3, sha256: 'd'.repeat(64), text: 'a\nb' }],
        },
      ),
      asks('a4', 'write_file', { path: 'long.txt', content: long }),
    ];
    turn.emit({ type: 'approval_needed', approvalId: 'a1' });
    await tab.page.locator('.approval').nth(3).waitFor();
    const card = (at: number) => tab.page.locator('.approval').nth(at);
    await expect
      .poll(() => card(0).locator('pre.command').innerText(), WAIT)
      .toBe(String.raw`grep -r 'it'\''s here' src`);
    await expect.poll(() => card(0).innerText(), WAIT).toContain('timeout_seconds 30');
    await expect
      .poll(() => card(1).locator('.change').textContent(), WAIT)
      .toBe(['  one', '- two', '+ three'].join('\n') + '\n');
    expect(await card(1).innerText()).toContain('File notes.txt');
    expect(await card(2).locator('.change').textContent()).toBe(['  a', '- b', '+ c'].join('\n') + '\n');
    const text = card(3).locator('pre').first();
    expect(await text.innerText()).not.toContain('line 100');
    await card(3).getByRole('button', { name: 'Show all' }).click();
    expect(await text.innerText()).toBe(long);
    expect(await objections(tab.page)).toEqual([]);
    await card(0).scrollIntoViewIfNeeded();
    await tab.screenshot('approval-arguments');
  });

  it('are denied with a reason, and approved permanently only if the gateway offers it', async () => {
    const turn = await requestApproval('r1', 'rm x');
    const always = tab.page.getByRole('button', { name: 'Always allow this exact call here' });
    expect(await always.count()).toBe(0);
    await tab.page.getByLabel('Reason for denying it').fill(' keep x ');
    await tab.page.getByRole('button', { name: 'Deny' }).click();
    await tab.page.getByText('May I do this?').waitFor({ state: 'detached' });
    fixture.api.gateway.pendingApprovals = [{ ...pendingApproval(turn, 'r2', 'rm y'), rule: 'a-digest' }];
    turn.emit({ type: 'approval_needed', approvalId: 'r2' });
    await tab.screenshot('approval-always');
    await always.click();
    await tab.page.getByText('rm y').waitFor({ state: 'detached' });
    await tab.page.getByText('Approved only this once').waitFor();
    expect(details).toEqual([{ reason: 'keep x' }, { always: true }]);
  });

  it('are approved with changes: each argument is a field, and what is wrong is said at it', async () => {
    const { gateway } = fixture.api;
    const turn = await fixture.ask('wipe it');
    const args = { command: 'rm -rf a\u202e', count: 2 };
    gateway.pendingApprovals = [{ ...pendingApproval(turn, 'e1', ''), args }];
    turn.emit({ type: 'approval_needed', approvalId: 'e1' });
    // The question above has such a button, too.
    const card = tab.page.locator('[data-approval="e1"]');
    await card.getByRole('button', { name: 'Edit', exact: true }).click();
    const command = tab.page.getByRole('textbox', { name: 'Command', exact: true });
    const count = tab.page.getByRole('textbox', { name: 'count' });
    expect(await command.inputValue()).toBe(String.raw`"rm -rf a\u202e"`);
    await expect.poll(() => command.evaluate((field) => field === document.activeElement)).toBe(true);
    await command.fill('"ls a"');
    await count.fill('two');
    await tab.page.getByRole('button', { name: 'Approve with changes' }).click();
    expect(await count.getAttribute('aria-invalid')).toBe('true');
    expect(await command.getAttribute('aria-invalid')).toBe('false');
    expect(decided).toEqual([]);
    const { decide } = gateway;
    gateway.decide = async () => ({
      kind: 'bad_args',
      problem: 'Wrong arguments for exec:\n- count must be at most 3',
    });
    await count.fill('9');
    await tab.page.getByRole('button', { name: 'Approve with changes' }).click();
    await tab.page.getByText('count must be at most 3').waitFor();
    expect(await command.inputValue()).toBe('"ls a"');
    expect(await objections(tab.page)).toEqual([]);
    await tab.screenshot('approval-edit');
    gateway.decide = decide;
    await count.fill('3');
    await tab.page.getByRole('button', { name: 'Approve with changes' }).click();
    await tab.page.getByText('May I do this?').waitFor({ state: 'detached' });
    expect(decided).toEqual([['e1', 'approved']]);
    expect(details).toEqual([{ args: { command: 'ls a', count: 3 } }]);
  });

  it('of other people are questions with a field: the answer is sent, or that there is none', async () => {
    const answers: unknown[] = [];
    const { gateway } = fixture.api;
    gateway.answer = async (_caller, id, reply) => {
      answers.push([id, reply]);
      gateway.pendingApprovals = gateway.pendingApprovals.filter((one) => one.id !== id);
      return { kind: 'decided', decision: 'approved' };
    };
    const turn = await fixture.ask('hello');
    const question = (id: string, text: string): ApprovalRecord => {
      const { session, ...request } = pendingApproval(turn, id, '');
      const asked = { address: session, label: 'the page', userId: 'token:admin', text, asker: 'Ann\u202ea' };
      return { ...request, session: 'telegram:1', question: asked };
    };
    gateway.pendingApprovals = [question('k1', 'Tea or\n<b>coffee</b>?'), question('k2', 'And milk?')];
    turn.emit({ type: 'approval_needed', approvalId: 'k1' });
    const card = tab.page.getByRole('group', { name: String.raw`Question of Ann\u{202e}a` });
    await card.first().getByText('<b>coffee</b>?').waitFor();
    expect(await objections(tab.page)).toEqual([]);
    await tab.screenshot('question');
    const field = card.first().getByRole('textbox');
    expect(await card.first().getByRole('button', { name: 'Answer' }).isDisabled()).toBe(true);
    await field.fill(' Tea, please. ');
    await card.first().getByRole('button', { name: 'Answer' }).click();
    await tab.page.getByText('And milk?').waitFor();
    await expect.poll(() => card.count(), WAIT).toBe(1);
    await card.getByRole('button', { name: 'Never ask me' }).click();
    await card.waitFor({ state: 'detached' });
    expect(answers).toEqual([
      ['k1', { answer: 'Tea, please.' }],
      ['k2', { never: true }],
    ]);
  });

  it('can be denied, and disappear when they are decided elsewhere', async () => {
    const turn = await requestApproval('q2', 'rm a');
    await tab.page.getByRole('button', { name: 'Deny' }).click();
    await tab.page.getByText('May I do this?').waitFor({ state: 'detached' });
    expect(decided).toEqual([['q2', 'denied']]);
    fixture.api.gateway.pendingApprovals = [pendingApproval(turn, 'q3', 'rm b')];
    turn.emit({ type: 'approval_needed', approvalId: 'q3' });
    await tab.page.getByText('rm b').waitFor();
    fixture.api.gateway.pendingApprovals = [];
    turn.emit({ type: 'approval_decided', approvalId: 'q3', decision: 'approved' });
    await tab.page.getByText('rm b').waitFor({ state: 'detached' });
    expect(decided).toHaveLength(1);
  });
});

/**
 * Decisions that users can live with, through a whole gateway: a denial with its reason, and a rule for exactly one
 * call.
 */
import { beforeAll, expect, it, vi } from 'vitest';
import { MAX_REASON_CHARS } from '../../../src/protocol/agent/approvals.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, FRIENDS, OWNER, WAIT } from '../setup.ts';

const people = FRIENDS.toReversed().values();
const ran: string[] = [];
const file = { access: { telegram: { allow: FRIENDS } }, limits: { messagesAtOnce: 100 } };

describeGateway(
  'decisions on approvals',
  { telegram: true, discord: true, file, tools: riskyTools(ran) },
  (fixture) => {
    beforeAll(() => void ran.splice(0));

    const shows = (chat: string, text: string | RegExp): Promise<void> =>
      vi.waitFor(() => expect(fixture().telegram.screen(chat).join('\n')).toMatch(text), WAIT);
    const buttons = (chat: string): string[] =>
      fixture()
        .telegram.messages(chat)
        .flatMap((message) => message.buttons.map(({ text }) => text));
    /** The model answers `said` with this call, then with text. */
    const answers = (said: string, name: string, word: string): void =>
      fixture().ollama.answer({ toolCalls: [{ name, args: { word } }] }, { when: said });
    const says = (chat: string, said: string): unknown => fixture().telegram.says(chat, said, chat);
    /** A new chat in which the question about `wipe` waits. */
    async function asked(said: string, word = said): Promise<string> {
      const chat = people.next().value ?? '';
      answers(said, 'wipe', word);
      says(chat, said);
      await shows(chat, /May I do this/);
      return chat;
    }
    const modelRead = (): string => {
      const read = fixture().ollama.calls.flatMap(({ body }) => body['messages'] ?? []);
      return JSON.stringify(read);
    };

    it('are denied with a reason that the model reads: by /deny, and by a reply to the question', async () => {
      const chat = await asked('wipe by mistake');
      says(chat, '/deny the wrong disk, take b');
      await shows(chat, /Denied: it will not run/);
      await shows(chat, /Denied by .*: the wrong disk, take b/);
      const other = await asked('wipe by reply');
      const question = fixture().telegram.messages(other).at(-1);
      fixture().telegram.says(other, 'yes, but only on Sunday', other, { replyTo: question?.id });
      await shows(other, /Denied by .*: yes, but only on Sunday/);
      await vi.waitFor(() => expect(modelRead()).toContain('yes, but only on Sunday'), WAIT);
      expect(modelRead()).toContain('the wrong disk, take b');
      expect(ran).toEqual([]);
    });

    it(`keep ${MAX_REASON_CHARS} characters of a reason, and say that the rest is left out`, async () => {
      const chat = await asked('wipe at length');
      says(chat, `/deny ${'x'.repeat(MAX_REASON_CHARS)}y`);
      await shows(chat, /Only the first 500 characters of your reason were kept/);
      await shows(chat, 'x'.repeat(MAX_REASON_CHARS));
      expect(fixture().telegram.screen(chat).join('\n')).not.toContain(`${'x'.repeat(MAX_REASON_CHARS)}y`);
    });

    it('apply to exactly one call in one chat, and are listed and removed there', async () => {
      const chat = await asked('first', 'disk a');
      expect(buttons(chat)).toEqual(['Approve', 'Deny', 'Always allow this exact call here']);
      fixture().telegram.press(chat, 'Always allow this exact call here', chat);
      await shows(chat, /echo: first/);
      answers('second', 'wipe', 'disk a');
      says(chat, 'second');
      await shows(chat, /echo: second/);
      expect(ran.filter((run) => run === 'wipe disk a')).toHaveLength(2);
      // Other arguments are another call.
      answers('third', 'wipe', 'disk b');
      says(chat, 'third');
      await shows(chat, /disk b/);
      says(chat, '/deny');
      await shows(chat, /echo: third/);
      // Another chat has no rule.
      const other = await asked('elsewhere', 'disk a');
      says(other, '/deny');
      await shows(other, /echo: elsewhere/);
      says(chat, '/rules');
      await shows(chat, /1\. wipe \{"word":"disk a"\}, since .* used 1 time/);
      says(chat, '/rules remove 1');
      await shows(chat, /Removed: I will ask again/);
      expect(await fixture().store.approvals.rules({ session: `telegram:${chat}` })).toEqual([]);
    });

    it('never apply to a conversation that has read text of others: it is asked each time', async () => {
      const chat = await asked('begin', 'disk c');
      fixture().telegram.press(chat, 'Always allow this exact call here', chat);
      await shows(chat, /echo: begin/);
      answers('read it', 'look', '');
      says(chat, 'read it');
      await shows(chat, /echo: read it/);
      answers('again', 'wipe', 'disk c');
      says(chat, 'again');
      await vi.waitFor(() => expect(buttons(chat)).toEqual(['Approve', 'Deny']), WAIT);
      const { approvals } = await (await fixture().call('/v1/approvals', { token: OWNER })).json();
      const waiting = approvals.find((one: { session: string }) => one.session === `telegram:${chat}`);
      expect(waiting).toMatchObject({ mayAlways: false });
      // If an "always" is sent anyway, the call is approved once and nothing is stored.
      const answer = await fixture().call(`/v1/approvals/${waiting.id}`, {
        json: { decision: 'approved', always: true },
        token: OWNER,
      });
      expect(await answer.json()).toMatchObject({ decision: 'approved', rule: 'not_offered' });
      await shows(chat, /echo: again/);
    });

    it('are stored, listed and revoked over HTTP, and shown with who decided and when', async () => {
      const call = fixture().call.bind(fixture());
      answers('over http', 'wipe', 'disk d');
      await call('/v1/sessions/http:rules/messages', { json: { content: 'over http' }, token: OWNER });
      const { id } = await vi.waitFor(async () => {
        const { approvals } = await (await call('/v1/approvals', { token: OWNER })).json();
        const found = approvals.find(({ session }: { session: string }) => session === 'http:rules');
        if (found === undefined) throw new Error('http:rules waits for nothing');
        return found;
      }, WAIT);
      const bad = await call(`/v1/approvals/${id}`, {
        json: { decision: 'denied', always: true },
        token: OWNER,
      });
      expect(bad.status).toBe(400);
      const json = { decision: 'approved', always: true };
      const stored = await (await call(`/v1/approvals/${id}`, { json, token: OWNER })).json();
      expect(stored).toEqual({ id, decision: 'approved', rule: 'stored' });
      const listed = async () => {
        const { rules } = await (await call('/v1/approval-rules', { token: OWNER })).json();
        return rules.filter(({ session }: { session: string }) => session === 'http:rules');
      };
      const [rule] = await listed();
      expect(rule).toMatchObject({
        tool: 'wipe',
        args: { word: 'disk d' },
        createdName: 'GATEWAY_TOKEN',
        uses: 0,
      });
      await fixture().idle('http:rules');
      const history = await (
        await call('/v1/sessions/http:rules/messages?include=steps', { token: OWNER })
      ).json();
      const decision = history.steps
        .flatMap(({ events }: { events: { type: string }[] }) => events)
        .find(({ type }: { type: string }) => type === 'approval_decided');
      expect(decision).toMatchObject({ by: 'GATEWAY_TOKEN', decidedAt: expect.any(String) });
      const gone = await call(`/v1/approval-rules/${rule.id}`, { method: 'DELETE', token: OWNER });
      expect(gone.status).toBe(200);
      expect(await listed()).toEqual([]);
      const twice = await call(`/v1/approval-rules/${rule.id}`, { method: 'DELETE', token: OWNER });
      expect(twice.status).toBe(404);
    });
  },
);

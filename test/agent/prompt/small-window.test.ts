/** What a conversation is notified of when its model's window is small: each thing once, and nothing that is no loss. */
import { describe, expect, it } from 'vitest';
import type { EventBody } from '../../../src/protocol/event.ts';
import { inEnglish } from '../../../src/protocol/texts/say.ts';
import type { Group } from '../../../src/agent/prompt/history.ts';
import { partialTurn } from '../../fakes/agent/turn.ts';
import { NOTICE_TTL_MS, SmallWindowNotices } from '../../../src/agent/model/notices.ts';
import { createPreparation } from '../../../src/agent/prompt/prepared-profile.ts';
import { defaultProfile } from '../../../src/agent/profiles/built-in.ts';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { testLog } from '../../fakes/agent/tool-context.ts';

const tools = riskyTools([]);
const profile = {
  ...defaultProfile(),
  planning: 'off' as const,
  enabledTools: tools.map(({ name }) => name),
};
const prepared = createPreparation({ tools: () => tools })(profile);
const parts = { system: 0, message: 0, steps: 0, note: 0 };

/** Notes prompts whose tools or history were cut; returns the texts of the notices. */
function notesOf(clock = { now: 0 }) {
  const notices = new SmallWindowNotices(() => clock.now);
  return (hidden: readonly string[], { history = 0, isSubagent = false, offers = true } = {}): string[] => {
    const events: EventBody[] = [];
    const past: Group[] = [{ messages: [], tokens: 100 }];
    const turn = {
      sessionKey: 'telegram:42' as const,
      ...(isSubagent && { parentTurnId: 't' }),
      say: inEnglish,
      log: testLog([]),
      prepared,
      history: past,
    };
    const schemas = offers ? prepared.schemas : [];
    const start = { system: { content: '', tokens: 0 }, tools: { schemas, tokens: 0, hidden } };
    const fitted = { messages: [], tokens: 0, parts: { ...parts, history: 100 - history } };
    notices.note(partialTurn(turn), 'm', 4_096, start, fitted, (event) => void events.push(event));
    return events.map((event) => (event.type === 'notice' ? event.text : event.type));
  };
}

describe('a conversation on a small window', () => {
  it('is notified once a day of tools that its model has to look up', () => {
    const clock = { now: 0 };
    const note = notesOf(clock);
    const text =
      'm has a small context window (4096 tokens): 3 of 5 tools are offered directly; it has to look up the others.';
    expect(note(['wipe', 'tell'])).toEqual([text]);
    clock.now = NOTICE_TTL_MS - 1;
    expect(note(['wipe', 'tell'])).toEqual([]);
    clock.now = NOTICE_TTL_MS;
    expect(note(['wipe', 'tell'])).toEqual([text]);
  });

  it('is notified when no tool fits, and when its beginning falls out', () => {
    const names = [...prepared.tools.keys()];
    expect(notesOf()(names, { offers: false, history: 1 })).toEqual([
      expect.stringContaining('answers without tools'),
      expect.stringContaining('The beginning of this conversation'),
    ]);
  });

  it('is not notified of tools of servers, which are found, nor in the conversation of a subagent', () => {
    expect(notesOf()(['big__one', 'list_resources'])).toEqual([]);
    expect(notesOf()([])).toEqual([]);
    expect(notesOf()(['wipe'], { isSubagent: true, history: 1 })).toEqual([]);
  });
});

/** Owners who have connected the bot to their account: whoever writes to them is answered in their name, and has no rights. */
import { expect, it, vi } from 'vitest';
import { riskyTools } from '../../fakes/agent/risky-tools.ts';
import { describeGateway, HALF, WAIT } from '../setup.ts';

const OWNER = '7001';
const OTHER_OWNER = '7002';
const FRIEND = '7003';
const ran: string[] = [];
let greetings = 0;
const contacts = Array.from({ length: 20 }, (_, index) => String(8_001 + index)).values();
const SETTINGS = {
  telegram: true,
  tools: riskyTools(ran),
  file: {
    access: { telegram: { allow: [FRIEND] }, owners: { telegram: [OWNER, OTHER_OWNER] } },
    channels: { telegram: { business: true } },
  },
};

describeGateway('a bot that owners have connected to their account', SETTINGS, (fixture) => {
  const business = () => fixture().telegram.business;
  const contact = (): string => contacts.next().value ?? '';
  const shown = (id: string, person: string, texts: readonly string[]): Promise<void> =>
    vi.waitFor(() => expect(business().screen(id, person)).toEqual(texts), WAIT);
  const owner = (): string => fixture().telegram.screen(OWNER).join('\n');
  /** The owner's private chat with the bot is open, and their account connected. */
  const connected = async (): Promise<string> => {
    const greeting = `hello bot ${(greetings += 1)}`;
    fixture().telegram.says(OWNER, greeting, OWNER);
    await vi.waitFor(() => expect(owner()).toContain(`echo: ${greeting}`), WAIT);
    return business().connects(OWNER);
  };

  it('asks Telegram for what happens there', async () => {
    await vi.waitFor(() => {
      const wanted = fixture().telegram.last.get('getUpdates')?.['allowed_updates'];
      expect(wanted).toEqual(expect.arrayContaining(['business_connection', 'business_message']));
    }, WAIT);
  });

  it('answers in their name, at once and whole, and remembers each conversation by itself', async () => {
    const [id, ada, bob] = [await connected(), contact(), contact()];
    const answer = Array.from({ length: 60 }, (_, at) => `word${at}`).join(' ');
    fixture().ollama.answer({ text: answer, failure: HALF }, { when: 'are you open on Sunday' });
    fixture().ollama.answer({ text: 'At nine.' }, { when: 'and when on Monday' });
    business().says(id, ada, 'are you open on Sunday');
    await fixture().releaseOnce('are you open on Sunday', () => business().actions(id, ada).length > 0);
    await shown(id, ada, [answer]);
    expect(business().shown(id, ada)).toEqual([[answer]]);
    business().says(id, bob, 'and when on Monday');
    await shown(id, bob, ['At nine.']);
    const { body } = await fixture().modelCall('and when on Monday');
    expect(JSON.stringify(body.messages)).not.toContain('Sunday');
    expect(JSON.stringify(body.messages)).toContain("Your answer is sent in the owner's name");
    expect(owner()).not.toContain('At nine.');
  });

  it('sends every part of a long answer there, and no reply or button', async () => {
    const [id, person] = [await connected(), contact()];
    const parts = ['a', 'b', 'c'].map((letter) => `${letter.repeat(49)} `.repeat(60).trim());
    fixture().ollama.answer({ text: parts.join('\n\n') }, { when: 'tell me everything' });
    business().says(id, person, 'tell me everything');
    await vi.waitFor(() => {
      const texts = business().screen(id, person);
      expect(texts.length).toBeGreaterThan(1);
      expect(texts.join(' ').split(/\s+/)).toEqual(parts.join(' ').split(/\s+/));
    }, WAIT);
  });

  it('treats what outsiders write as text, also of someone who is an owner elsewhere', async () => {
    const id = await connected();
    for (const text of ['/status', '/stop now', '/approve', '/new']) {
      const person = contact();
      fixture().ollama.answer({ text: `I read ${text}.` }, { when: text });
      business().says(id, person, text);
      await shown(id, person, [`I read ${text}.`]);
    }
    fixture().ollama.answer({ text: 'I do not do that.' }, { when: '/model gemma' });
    business().says(id, OTHER_OWNER, '/model gemma');
    await shown(id, OTHER_OWNER, ['I do not do that.']);
    const { body } = await fixture().modelCall('/model gemma');
    expect(JSON.stringify(body.messages)).not.toContain('an owner of this bot,');
    expect(await fixture().store.access.pairings()).toEqual([]);
  });

  it('asks the owner in their own chat before a tool runs that reaches outside, and shows outsiders nothing of it', async () => {
    const [id, person] = [await connected(), contact()];
    fixture().ollama.answer(
      { toolCalls: [{ name: 'wipe', args: { word: 'the shop' } }] },
      { when: 'wipe the shop' },
    );
    fixture().ollama.answer({ text: 'Done, it is gone.' }, { when: 'wiped the shop' });
    business().says(id, person, 'wipe the shop');
    await vi.waitFor(() => expect(owner()).toMatch(/May I do this[\s\S]*the shop/), WAIT);
    expect(business().screen(id, person)).toEqual([]);
    expect(ran).toEqual([]);
    const press = fixture().telegram.press(OWNER, 'Approve', OWNER);
    await vi.waitFor(() => expect(fixture().telegram.pressed.answers.get(press)).toBe('Approved.'), WAIT);
    await vi.waitFor(() => expect(business().screen(id, person)).toHaveLength(1), WAIT);
    expect(ran).toEqual(['wipe the shop']);
    expect(business().screen(id, person).join()).not.toMatch(/May I|Approved/);
  });

  it('tells the owner of a failure, and the other side nothing', async () => {
    const [id, person] = [await connected(), contact()];
    const failure = { kind: 'status', status: 400, error: 'this model is broken' } as const;
    for (let count = 0; count < 8; count += 1)
      fixture().ollama.answer({ failure }, { when: 'this one fails' });
    const before = fixture().telegram.screen(OWNER).length;
    business().says(id, person, 'this one fails');
    await vi.waitFor(() => expect(fixture().telegram.screen(OWNER)).toHaveLength(before + 1), WAIT);
    await fixture().idle(`telegram:${OWNER}:business${person}`);
    expect(business().screen(id, person)).toEqual([]);
  });

  it('reads what the owner writes there, and answers it not', async () => {
    const [id, person] = [await connected(), contact()];
    business().says(id, person, 'We are closed in May.', OWNER);
    business().says(id, person, 'so when do you open again');
    await vi.waitFor(() => expect(business().screen(id, person)).toHaveLength(2), WAIT);
    const { body } = await fixture().modelCall('so when do you open again');
    expect(JSON.stringify(body.messages)).toContain('We are closed in May.');
    const calls = fixture().ollama.calls.filter((call) =>
      JSON.stringify(call.body).includes('closed in May'),
    );
    expect(calls.length).toBe(1);
  });

  it('answers the edited text of a question that waits, and drops a deleted one', async () => {
    const [id, person] = [await connected(), contact()];
    fixture().ollama.answer({ text: 'one two', failure: HALF }, { when: 'the first of three' });
    fixture().ollama.answer({ text: 'three' }, { when: 'the second, edited' });
    business().says(id, person, 'the first of three');
    const first = await fixture().modelCall('the first of three');
    const second = business().says(id, person, 'the second of three');
    const third = business().says(id, person, 'the third of three');
    const waits = async (count: number): Promise<void> => {
      const key = `in:telegram:${OWNER}:business${person}`;
      await vi.waitFor(async () => {
        const [row] = await fixture().sql`select (tail - head)::int as count from lane where key = ${key}`;
        expect(row?.['count']).toBe(count);
      }, WAIT);
    };
    await waits(3);
    business().edits(id, person, second, 'the second, edited');
    business().deletes(id, person, third);
    await vi.waitFor(() => expect(fixture().log.join('\n')).toMatch(/message_deleted/), WAIT);
    first.release();
    await shown(id, person, ['one two', 'three']);
  });

  it('is silent in a disconnected account, in one that may not be answered in, and in those of others', async () => {
    const [id, person] = [await connected(), contact()];
    const ofFriend = business().connects(FRIEND);
    fixture().ollama.answer({ text: 'Hello to you.' }, { when: 'hello with a right' });
    business().says(ofFriend, person, 'hello from the friend');
    business().changes(id, { rights: {} });
    business().says(id, person, 'hello without a right');
    business().changes(id, { rights: { can_reply: true } });
    business().says(id, person, 'hello with a right');
    await shown(id, person, ['Hello to you.']);
    expect(business().screen(ofFriend, person)).toEqual([]);
    const calls = fixture().ollama.calls.map(({ body }) => JSON.stringify(body));
    expect(calls.some((call) => /from the friend|without a right/.test(call))).toBe(false);
  });

  it('gives up an answer whose account was disconnected while it was written, and the owner reads nothing twice', async () => {
    const [id, person] = [await connected(), contact()];
    fixture().ollama.answer({ text: 'too late now', failure: HALF }, { when: 'a slow question' });
    business().says(id, person, 'a slow question');
    const call = await fixture().modelCall('a slow question');
    business().changes(id, { isEnabled: false }, { isSilent: true });
    call.release();
    await vi.waitFor(() => expect(fixture().log.join('\n')).toContain('business connection not found'), WAIT);
    expect(business().screen(id, person)).toEqual([]);
    expect(owner()).not.toContain('too late now');
  });
});

describeGateway(
  'a bot without the setting',
  { telegram: true, file: { access: { owners: { telegram: [OWNER] } } } },
  (fixture) => {
    it('does not ask Telegram for messages of accounts', async () => {
      const { telegram } = fixture();
      telegram.says(OWNER, 'hello bot', OWNER);
      await vi.waitFor(() => expect(telegram.screen(OWNER).join()).toContain('echo: hello bot'), WAIT);
      expect(JSON.stringify(telegram.last.get('getUpdates')?.['allowed_updates'])).not.toContain('business');
    });
  },
);

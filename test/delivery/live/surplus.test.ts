/** Messages that are no longer needed: the parts a shorter second try leaves behind, and second copies from before a crash. */
import { describe, expect, it } from 'vitest';
import { buildDelivery } from '../setup.ts';

const PAGES = Array.from({ length: 12 }, (_, i) => `Paragraph ${i} of a first try that was cut off.`).join(
  '\n\n',
);

/** A chat in which the first try of an answer showed three messages before its model was cut off. */
async function grown(options: Parameters<typeof buildDelivery>[0] = {}) {
  const gateway = buildDelivery({ maxLength: 200, ...options });
  const turn = gateway.open('t');
  gateway.say('t', PAGES);
  await gateway.clock.advance(60_000);
  await turn.settle();
  expect(gateway.channel.screen('1')).toHaveLength(3);
  return gateway;
}

describe('an answer shorter than what had grown on screen', () => {
  it('removes the messages that it no longer needs, and forgets their ids', async () => {
    const gateway = await grown();
    await gateway.deliver('Short.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Short.']);
    expect(gateway.finished).toEqual([{ ref: 't', sent: [{ id: 'm1' }] }]);
  });

  it('removes them before it becomes one rich message, so that no part of it is on screen twice', async () => {
    const gateway = await grown();
    const { channel } = gateway;
    Object.assign(channel, {
      renderWhole: async (_place: unknown, { markdown }: { markdown: string }) => ({
        text: `rich: ${markdown}`,
        plain: markdown,
        length: 1,
        rich: true,
      }),
    });
    await gateway.deliver(PAGES, { turnId: 't' });
    expect(channel.calls.slice(-3).map(({ kind }) => kind)).toEqual(['delete', 'delete', 'edit']);
    expect(channel.screen('1')).toEqual([`rich: ${PAGES}`]);
  });

  it('shows "…" in them on a channel that cannot delete', async () => {
    const gateway = await grown({ delete: false });
    await gateway.deliver('Short.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Short.', '…', '…']);
  });

  it('shows "…" in one that the platform keeps', async () => {
    const gateway = await grown();
    gateway.channel.failure({ kind: 'delete', code: 'rejected' });
    await gateway.deliver('Short.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Short.', '…']);
  });

  it('is retried while the platform is unreachable, and accepts that some of it no longer exists by then', async () => {
    const gateway = await grown();
    gateway.channel.remove(2);
    gateway.channel.failure({ kind: 'delete', code: 'unavailable' });
    const first = await gateway.deliver('Short.', { turnId: 't' });
    expect(first.value?.kind).toBe('waiting');
    await gateway.deliver('Short.', { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Short.']);
  });

  it('never shows its end twice: the rest is removed before the first message becomes the whole answer', async () => {
    const gateway = await grown();
    const [first = ''] = gateway.channel.screen('1');
    const whole = { text: 'Whole.', plain: 'Whole.', length: 6, rich: true as const };
    gateway.channel.renderWhole = () => Promise.resolve(whole);
    gateway.channel.failure({ kind: 'delete', code: 'unavailable' });
    await gateway.deliver(PAGES, { turnId: 't' });
    expect(gateway.channel.screen('1')[0]).toBe(first);
    await gateway.deliver(PAGES, { turnId: 't' });
    expect(gateway.channel.screen('1')).toEqual(['Whole.']);
  });

  it('is delivered even if the platform refuses to touch the rest', async () => {
    const gateway = await grown();
    gateway.channel.failure({ kind: 'delete', code: 'blocked' }, { kind: 'delete', code: 'blocked' });
    const { value } = await gateway.deliver('Short.', { turnId: 't' });
    expect(value?.kind).toBe('finished');
    expect(gateway.channel.screen('1')[0]).toBe('Short.');
  });
});

describe('a second copy of a message', () => {
  const question = { content: 'May I?', buttons: [{ label: 'Yes', value: 'approve:1' }] };

  /** A chat with the same question twice: the id of the first send was not stored. */
  async function askedTwice() {
    const gateway = buildDelivery();
    await gateway.deliver(question.content, question);
    gateway.parts.delete('ref-1');
    await gateway.deliver(question.content, question);
    expect(gateway.channel.buttons('1')).toEqual([['Yes'], ['Yes']]);
    return gateway;
  }
  const removal = (id: string) => ({
    ref: 'ref-1',
    message: { channel: 'fake', chatId: '1', content: '', media: [], buttons: [] },
    copies: [{ id }],
  });

  it('is removed, and the stored one stays', async () => {
    const gateway = await askedTwice();
    await gateway.deliver('', {}, { payload: removal('m1') });
    expect(gateway.channel.buttons('1')).toEqual([['Yes']]);
    expect(gateway.finished.at(-1)).toEqual({ ref: 'ref-1', sent: [{ id: 'm2' }] });
  });

  it('that is removed does not affect what its turn has put on screen in the meantime', async () => {
    const gateway = buildDelivery();
    await gateway.deliver('half an answer', { turnId: 'turn' });
    gateway.parts.delete('turn');
    const answerCalls = gateway.channel.hold();
    const removed = gateway.deliver('', {}, { payload: { ...removal('m1'), ref: 'turn' } });
    await gateway.clock.advance(1_000);
    gateway.parts.set('turn', [{ id: 'm2' }]);
    answerCalls();
    await removed;
    expect(gateway.channel.screen('1')).toEqual([]);
    expect(gateway.parts.get('turn')).toEqual([{ id: 'm2' }]);
  });

  it('is not a copy if its id has been stored since', async () => {
    const gateway = await askedTwice();
    await gateway.deliver('', {}, { payload: removal('m2') });
    expect(gateway.channel.buttons('1')).toEqual([['Yes'], ['Yes']]);
    expect(gateway.channel.count('delete')).toBe(0);
  });

  it('loses its text and buttons if it cannot be removed', async () => {
    const gateway = buildDelivery({ delete: false });
    await gateway.deliver(question.content, question);
    gateway.parts.delete('ref-1');
    await gateway.deliver(question.content, question);
    await gateway.deliver('', {}, { payload: removal('m1') });
    expect(gateway.channel.screen('1')).toEqual(['…', 'May I?']);
    expect(gateway.channel.buttons('1')).toEqual([[], ['Yes']]);
  });
});

/**
 * Images and audio from tools of MCP servers are files of the session; vision models are shown them; users see a call's
 * progress.
 */
import { readdir, readFile } from 'node:fs/promises';
import path from 'node:path';
import { beforeAll, expect, it, vi } from 'vitest';
import { eventsUntil } from '../../channels/http/client.ts';
import { OGG, PNG } from '../../fakes/media/media-bytes.ts';
import { scripted } from '../../fakes/mcp/servers.ts';
import { describeGateway, WAIT } from '../setup.ts';

const models = [
  { name: 'seeing:latest', contextLength: 32_768, capabilities: ['completion', 'tools', 'vision'] as const },
  { name: 'blind:latest', contextLength: 32_768, capabilities: ['completion', 'tools'] as const },
];
const file = { mcp: { servers: { camera: { ...scripted(['photo']), trusted: true } } } };

describeGateway('images from MCP servers', { file, model: { models } }, (fixture) => {
  /** What the model is asked after the tool has run. */
  const takePhoto = async (session: string, said: string) => {
    fixture().ollama.answer({ toolCalls: [{ name: 'camera__photo', args: {} }] }, { when: said });
    await fixture().post(session, said);
    return await vi.waitFor(() => {
      const call = fixture().ollama.calls.findLast(({ body }) => {
        const text = JSON.stringify(body.messages);
        return text.includes(said) && text.includes('took a picture');
      });
      if (call === undefined) throw new Error('the model was not asked again');
      return call.body.messages;
    }, WAIT);
  };

  /** The message after the result. */
  const shownIn = <Message extends { content: string }>(messages: readonly Message[]): Message | undefined =>
    messages.find(({ content }) => content.startsWith('[Pictures that tools have brought (camera__photo)'));

  beforeAll(async () => {
    await vi.waitFor(async () => {
      const { mcp } = await fixture().gateway.health();
      if (mcp['camera']?.state !== 'up') throw new Error('the server is not up yet');
    }, WAIT);
  }, 60_000);

  it('are files of the session, which a vision model is shown after the result, and again with the next question', async () => {
    const messages = await takePhoto('sees', 'what is in front of the garden');
    const result = messages.findLast(({ role }) => role === 'tool')?.content ?? '';
    const [, picture = ''] =
      /\(an image, image\/png, \d+ bytes: the file (inbox\/tools\/\S+\.png)\)/.exec(result) ?? [];
    const [, sound = ''] =
      /\(a sound, audio\/ogg, \d+ bytes: the file (inbox\/tools\/\S+)\)/.exec(result) ?? [];
    expect(shownIn(messages)?.images).toHaveLength(1);
    const sessions = path.join(fixture().home, 'workspace/sessions');
    const [folder = ''] = (await readdir(sessions)).filter((name) => !name.startsWith('.'));
    expect(await readFile(path.join(sessions, folder, picture))).toEqual(PNG);
    expect(await readFile(path.join(sessions, folder, sound))).toEqual(OGG);
    const rows = await fixture().sql<{ path: string }[]>`select path from kept_file order by path`;
    expect(rows.map((row) => row.path)).toEqual([picture, sound].toSorted());
    await fixture().idle('http:sees');
    await fixture().post('sees', 'and what colour is it');
    const { body } = await fixture().modelCall('and what colour is it');
    expect(body.messages.filter(({ images }) => images !== undefined)).toHaveLength(1);
    await fixture().idle('http:sees');
  });

  it('are described to a model without vision', async () => {
    await fixture().post('blind', 'hello there');
    await fixture().modelCall('hello there');
    await fixture().idle('http:blind');
    const change = { method: 'PATCH', json: { model: 'blind' } };
    expect((await fixture().call('/v1/sessions/http:blind', change)).status).toBe(200);
    const messages = await takePhoto('blind', 'what is behind the garden');
    expect(messages.every(({ images }) => images === undefined)).toBe(true);
    expect(shownIn(messages)?.content).toContain('You cannot see pictures');
    await fixture().idle('http:blind');
  });

  it('come with events about the progress of the call', async () => {
    fixture().ollama.answer(
      { toolCalls: [{ name: 'camera__photo', args: {} }] },
      { when: 'what is beside the garden' },
    );
    await fixture().post('watched', 'what is beside the garden');
    const stream = await fixture().call('/v1/sessions/http:watched/events', {
      headers: { 'last-event-id': '0-0' },
    });
    const { events } = await eventsUntil(stream, ({ type }) => type === 'turn_ended');
    expect(events.filter(({ type }) => type === 'tool_progress')).toMatchObject([
      { name: 'camera__photo', text: '1 of 2 opening the shutter' },
    ]);
    await fixture().idle('http:watched');
  });
});

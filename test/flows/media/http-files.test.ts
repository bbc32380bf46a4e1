/** Files over HTTP, end to end: what a model gets of uploads and of files in the bodies of requests. */
import { readdir, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { pdf, png } from '../../fakes/files/documents.ts';
import { OGG } from '../../fakes/media/media-bytes.ts';
import { type FakeTranscription, startFakeTranscription } from '../../fakes/media/transcription.ts';
import { isTurnCall, lastUserText } from '../../fakes/model/spoken-text.ts';
import { describeGateway, OWNER } from '../setup.ts';

const models = [
  { name: 'seeing:latest', contextLength: 32_768, capabilities: ['completion', 'tools', 'vision'] as const },
  { name: 'blind:latest', contextLength: 32_768, capabilities: ['completion', 'tools'] as const },
];

let listening: FakeTranscription | undefined;
afterAll(async () => {
  await listening?.close();
});

/** Settings that name a speech-to-text server, which is started with the first gateway. */
async function furnish(home: string): Promise<void> {
  listening ??= await startFakeTranscription();
  const file = { transcription: { baseUrl: listening.url } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify(file), { mode: 0o600 });
}

describeGateway('files over HTTP', { model: { models }, furnish }, (fixture) => {
  const dataOf = (type: string, bytes: Buffer): string => `data:${type};base64,${bytes.toString('base64')}`;
  const imagePart = (bytes: Buffer) => ({
    type: 'image_url',
    image_url: { url: dataOf('image/png', bytes) },
  });
  /** Requests a completion; returns its status, its body, and the last message that the model got. */
  const complete = async (text: string, parts: object[], { session = '', model = 'seeing' } = {}) => {
    const content = [{ type: 'text', text }, ...parts];
    const headers: Record<string, string> = session === '' ? {} : { 'x-session-id': session };
    const json = { model, messages: [{ role: 'user', content }] };
    const answer = await fixture().call('/v1/chat/completions', { json, headers });
    const call = fixture().ollama.calls.findLast(({ body }) => lastUserText(body).includes(text));
    const heard = call?.body.messages.findLast(({ role }) => role === 'user');
    return { status: answer.status, body: await answer.json(), heard };
  };
  const upload = async (session: string, name: string, bytes: Buffer) => {
    const url = `${fixture().gateway.url}/v1/sessions/http:${session}/files?name=${name}`;
    const answer = await fetch(url, {
      method: 'POST',
      body: new Uint8Array(bytes),
      headers: { authorization: `Bearer ${OWNER}` },
    });
    const body: { file: string; mimeType: string } = await answer.json();
    return body;
  };

  describe('in a completion without a session', () => {
    it('show an image to the model, and are not kept anywhere', async () => {
      const { status, heard } = await complete('what is on it?', [imagePart(await png(2_000, 500))]);
      expect(status).toBe(200);
      expect(heard?.images).toHaveLength(1);
      const seen = Buffer.from(heard?.images?.[0] ?? '', 'base64');
      expect(seen.subarray(0, 3).toString('hex')).toBe('ffd8ff');
      const folders = await readdir(path.join(fixture().home, 'workspace/sessions')).catch(() => []);
      expect(folders.filter((name) => !name.startsWith('.') && name !== 'stateless')).toEqual([]);
    });

    it('give it the text of a document, between marks', async () => {
      const data = dataOf('application/pdf', pdf(['The code word is heron.']));
      const part = { type: 'file', file: { filename: 'secret.pdf', file_data: data } };
      const { status, heard } = await complete('what is the code word?', [part]);
      expect(status).toBe(200);
      expect(heard?.content).toMatch(
        /^what is the code word\?\n\n\[[0-9a-f]{16}: text of others, from an attached file, secret\.pdf/,
      );
      expect(heard?.content).toContain('The code word is heron.');
    });

    it('give it the words of a recording, as words of the message', async () => {
      listening?.says(OGG, 'which bird is it?');
      const audio = { data: OGG.toString('base64'), format: 'ogg' };
      const { status, heard } = await complete('listen:', [{ type: 'input_audio', input_audio: audio }]);
      expect([status, heard?.content]).toEqual([200, 'listen:\n\nwhich bird is it?']);
      listening?.fails(400, '{"error":{"message":"unknown codec"}}');
      const refused = await complete('and this:', [{ type: 'input_audio', input_audio: audio }]);
      expect(refused).toMatchObject({ status: 400, body: { error: { code: 'unreadable_file' } } });
      expect(refused.body.error.message).toContain(
        '"audio-2.ogg" cannot be read: it could not be transcribed',
      );
      expect(refused.body.error.message).toContain('unknown codec');
    });

    it('are refused by name if the model has no vision, or the file cannot be read', async () => {
      const blind = await complete('can you see?', [imagePart(await png(10, 10))], { model: 'blind' });
      expect(blind).toMatchObject({
        status: 400,
        body: { error: { code: 'unsupported_value', param: 'messages' } },
      });
      expect(blind.body.error.message).toContain('the model blind:latest cannot see pictures');
      const broken = await complete('and this?', [imagePart((await png(10, 10)).subarray(0, 60))]);
      expect(broken).toMatchObject({
        status: 400,
        body: { error: { code: 'unreadable_file', param: 'messages' } },
      });
      expect(broken.body.error.message).toMatch(/^"image-2" cannot be read: /);
    });
  });

  describe('in a session', () => {
    it('show an image of a completion to the model, also with the next question, and to readers of the session', async () => {
      const bytes = await png(40, 30);
      const { status, heard } = await complete('look at it', [imagePart(bytes)], { session: 'shown' });
      expect([status, heard?.images?.length]).toEqual([200, 1]);
      const next = await complete('which colour was it?', [], { session: 'shown' });
      expect(next.status).toBe(200);
      const call = await fixture().modelCall('which colour was it?');
      expect(call.body.messages.filter(({ images }) => images !== undefined)).toHaveLength(1);
      const [first] = await fixture().messages('http:shown');
      expect(first?.attachments).toMatchObject([
        { kind: 'image', name: 'image-2', mimeType: 'image/png', bytes: bytes.length },
      ]);
      const back = await fixture().call(`/v1/sessions/http:shown/files/${first?.attachments?.[0]?.file}`);
      expect([back.headers.get('content-type'), Buffer.from(await back.arrayBuffer())]).toEqual([
        'image/png',
        bytes,
      ]);
    });

    it('deliver what was uploaded, without text, and are deleted with the session', async () => {
      const { file, mimeType } = await upload('brought', 'photo.png', await png(40, 30));
      expect(mimeType).toBe('image/png');
      const json = { content: '', files: [file], model: 'seeing' };
      const answer = await fixture().call('/v1/sessions/http:brought/messages', { json });
      expect(answer.status).toBe(202);
      await fixture().idle('http:brought');
      const [asked, said] = await fixture().messages('http:brought');
      expect([asked?.content, asked?.attachments?.map((one) => one.file), said?.role]).toEqual([
        '',
        [file],
        'assistant',
      ]);
      const call = fixture().ollama.calls.findLast(({ body }) => lastUserText(body).includes(file));
      expect(call?.body.messages.findLast(({ role }) => role === 'user')?.images).toHaveLength(1);
      await fixture().call('/v1/sessions/http:brought', { method: 'DELETE' });
      const gone = await fixture().call(`/v1/sessions/http:brought/files/${file}`);
      expect(gone.status).toBe(404);
    });

    it('count as the words of their sender when they are voice notes', async () => {
      const { file } = await upload('voice-note', 'note.ogg', OGG);
      listening?.says(OGG, 'water the plants');
      const ask = async (voice: boolean): Promise<string> => {
        const said = { content: '', files: [file], voice };
        const posted = await fixture().call('/v1/sessions/http:voice-note/messages', { json: said });
        expect(posted.status).toBe(202);
        await fixture().idle('http:voice-note');
        const call = fixture().ollama.calls.findLast(({ body }) => isTurnCall(body));
        return call === undefined ? '' : lastUserText(call.body);
      };
      expect(await ask(true)).toBe('(spoken) water the plants');
      expect((await fixture().store.ledger.session('http:voice-note'))?.sources ?? []).toEqual([]);
      // Any other sound may hold what someone else said.
      expect(await ask(false)).not.toMatch(/^\(spoken\) /);
      expect((await fixture().store.ledger.session('http:voice-note'))?.sources).toEqual(['local']);
    });

    it('are mentioned in text when one was removed before its turn', async () => {
      const { file } = await upload('removed', 'gone.txt', Buffer.from('soon gone'));
      fixture().ollama.answer({ text: 'Wait.', hold: true }, { when: 'first of all' });
      await fixture().post('removed', 'first of all');
      const held = await fixture().modelCall('first of all');
      const json = { content: 'read my file', files: [file] };
      expect((await fixture().call('/v1/sessions/http:removed/messages', { json })).status).toBe(202);
      await fixture().call(`/v1/sessions/http:removed/files/${file}`, { method: 'DELETE' });
      held.release();
      const { body } = await fixture().modelCall('read my file');
      expect(lastUserText(body)).toContain('it is no longer here');
    });
  });
});

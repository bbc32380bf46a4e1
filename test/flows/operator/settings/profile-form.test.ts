/** Profiles changed over HTTP and with the form of the page, in a running gateway: the next turn has the change. */
import { readFile, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { objections } from '../../../channels/http/page/browser/axe.ts';
import { describePage } from '../../../channels/http/page/browser/describe-page.ts';
import { type CallInit, type GatewayFixture, openGatewayFixture, OWNER, WAIT } from '../../setup.ts';
import { goToScreen } from './setup.ts';

let fixture: GatewayFixture;
beforeAll(async () => void (fixture = await openGatewayFixture()));
afterAll(() => fixture.close());

interface Answer {
  status: number;
  body: { version: string; error: { code: string; message: string; problems?: unknown } } & Record<
    string,
    unknown
  >;
}
const ask = async (address: string, init: CallInit = {}): Promise<Answer> => {
  const response = await fixture.call(address, init);
  return { status: response.status, body: (await response.json()) as Answer['body'] };
};
const change = (id: string, json: unknown) => ask(`/v1/profiles/${id}`, { method: 'PATCH', json });
const versionOf = async (id: string): Promise<string> => (await ask(`/v1/profiles/${id}`)).body.version;
/** The system prompt that a turn with this question had. */
const promptOf = async (chat: string, content: string, profileId?: string): Promise<string> => {
  const session = profileId === undefined ? {} : { session: { profileId } };
  await fixture.call(`/v1/sessions/http:${chat}/messages`, { json: { content, ...session } });
  const call = await fixture.modelCall(content);
  await fixture.idle(`http:${chat}`);
  return JSON.stringify(call.body.messages[0]);
};

describe('a profile', () => {
  it('is created, edited and deleted over HTTP, and the next turn uses the edits', async () => {
    expect((await ask('/v1/profiles', { json: { id: 'poet' } })).status).toBe(201);
    await change('poet', { version: await versionOf('poet'), systemPrompt: 'Answer in rhyme.' });
    expect(await promptOf('poems', 'a poem about rain', 'poet')).toContain('Answer in rhyme.');
    const edit = { changes: [{ path: ['maxIterations'], value: 7 }], systemPrompt: 'Answer in haiku.' };
    const edited = await change('poet', { version: await versionOf('poet'), ...edit });
    expect(edited).toMatchObject({ status: 200, body: { id: 'poet', version: await versionOf('poet') } });
    const prompt = await promptOf('poems', 'a poem about snow');
    expect([prompt.includes('in haiku'), prompt.includes('in rhyme')]).toEqual([true, false]);
    const file = path.join(fixture.home, 'profiles', 'poet', 'config.json');
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual({ maxIterations: 7 });
    const address = `/v1/profiles/poet?version=${await versionOf('poet')}`;
    expect(await ask(address, { method: 'DELETE' })).toMatchObject({
      body: { deleted: true, isBuiltIn: false },
    });
    expect((await ask('/v1/profiles/poet')).body.error.code).toBe('profile_not_found');
    expect(await promptOf('poems', 'a poem about hail')).not.toContain('in haiku');
  });

  it('is not changed by an edit of an earlier version, or one with an error, which names its field', async () => {
    const version = await versionOf('chat');
    const wrong = await change('chat', { version, changes: [{ path: ['temperature'], value: 9 }] });
    expect([wrong.status, wrong.body.error.code]).toEqual([400, 'bad_profile']);
    expect(wrong.body.error.message).toMatch(
      /^Nothing was changed:\nprofiles\/chat\/config.json:\d+:\d+: temperature: must be at most 2$/,
    );
    // A client words it for another reader: the text by its key, with the limit.
    expect(JSON.stringify(wrong.body.error.problems)).toContain('{"key":"problem.most","values":{"most":2}}');
    expect((await change('chat', { version, systemPrompt: 'Only talk.' })).status).toBe(200);
    const late = await change('chat', { version, systemPrompt: 'Only listen.' });
    expect([late.status, late.body.error.code]).toEqual([409, 'profile_changed']);
    const stays = await ask(`/v1/profiles/coder?version=${await versionOf('coder')}`, { method: 'DELETE' });
    expect([stays.status, stays.body.error.code]).toEqual([409, 'profile_built_in']);
    expect((await ask('/v1/profiles', { json: { id: 'A b' } })).body.error.message).toContain('1 to 32');
  });

  it('is described in the language of its reader', async () => {
    const { body } = await ask('/v1/profiles/chat', { headers: { 'accept-language': 'de' } });
    expect(JSON.stringify(body['schema'])).toContain('Aufrufe des Modells in einem Durchgang');
  });
});

describePage('the form of a profile', (tab) => {
  it('creates a profile, edits it, shows which field is wrong, and deletes it', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER });
    await goToScreen(page, 'profiles');
    await page.getByLabel('Name', { exact: true }).fill('singer');
    await page.getByRole('button', { name: 'Create' }).click();
    await page.getByLabel('Prompt', { exact: true }).fill('Sing every answer.');
    await page.getByLabel('Temperature', { exact: true }).fill('3');
    await tab.screenshot('profile-form');
    expect(await objections(page)).toEqual([]);
    await page.getByRole('button', { name: 'Save' }).click();
    const temperature = page.getByLabel('Temperature', { exact: true });
    await page.locator('.setting', { has: temperature }).getByText('must be at most 2').waitFor();
    await temperature.fill('0.5');
    await page.getByRole('button', { name: 'Save' }).click();
    await page.getByText('Profile singer saved').waitFor();
    expect(await promptOf('songs', 'a song about rain', 'singer')).toContain('Sing every answer.');
    await page.getByRole('link', { name: 'Edit: singer' }).click();
    expect(await temperature.inputValue()).toBe('0.5');
    await page.getByRole('button', { name: 'Delete' }).click();
    await page.getByRole('dialog').getByRole('button', { name: 'Delete' }).click();
    await page.getByText('Deleted the files of the profile singer.').waitFor();
    expect(await page.getByRole('link', { name: 'Edit: singer' }).count()).toBe(0);
    await page.getByRole('link', { name: 'Edit: coder' }).click();
    await temperature.waitFor();
    expect(await page.getByRole('button', { name: /Reset to built-in|Delete/ }).count()).toBe(0);
    await page.goBack();
    await page.getByRole('link', { name: 'Edit: coder' }).waitFor();
  });

  it('says in German which fields are wrong, also of files that were edited by hand', async () => {
    const page = await tab.open(fixture.gateway.url, { token: OWNER, locale: 'de-AT' });
    await goToScreen(page, 'profiles');
    await page.getByLabel('Name', { exact: true }).fill('A b');
    await page.getByRole('button', { name: 'Anlegen' }).click();
    await page.getByText('der Name des Profils: A b: er hat 1 bis 32 der Zeichen').waitFor();
    await page.getByLabel('Name', { exact: true }).fill('maler');
    await page.getByRole('button', { name: 'Anlegen' }).click();
    await page.getByLabel('Temperatur', { exact: true }).fill('3');
    await page.getByLabel('Modellaufrufe je Runde', { exact: true }).fill('0');
    await page.getByRole('button', { name: 'Speichern' }).click();
    const wrong = page.locator('.setting').filter({ has: page.locator('[aria-invalid]') });
    await expect
      .poll(() => wrong.locator('.error-text').allInnerTexts(), WAIT)
      .toEqual(['muss mindestens 1 sein', 'darf höchstens 2 sein']);
    await tab.screenshot('profile-form-german-errors');
    await page.getByRole('link', { name: '‹ Profile' }).click();
    await page.getByRole('link', { name: 'Bearbeiten: maler' }).waitFor();
    await writeFile(path.join(fixture.home, 'profiles', 'maler', 'config.json'), '{ "nope": 1 }\n');
    await page.getByRole('link', { name: 'Bearbeiten: maler' }).click();
    await page.getByText(/profiles\/maler\/config\.json:1:\d: nope: dieses Feld gibt es nicht/).waitFor();
  });
});

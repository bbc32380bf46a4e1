/** Web search in a running gateway: configured in config.json at runtime, used by the model, removed again. */
import { rename, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { startFakeSearxng } from '../../fakes/search/searxng.ts';
import type { FakeSearch } from '../../fakes/search/service.ts';
import { describeGateway, WAIT } from '../setup.ts';

describeGateway('web search', { file: {} }, (fixture) => {
  let searxng: FakeSearch;
  beforeAll(async () => void (searxng = await startFakeSearxng({})));
  afterAll(() => searxng.close());

  const edit = async (content: unknown): Promise<void> => {
    const file = path.join(fixture().home, 'config.json');
    await writeFile(`${file}.swp`, JSON.stringify(content), { mode: 0o600 });
    await rename(`${file}.swp`, file);
  };
  const settings = async (): Promise<{ values: { search?: unknown }; errors: string[] }> =>
    await (await fixture().call('/v1/settings')).json();
  const toolsFor = async (said: string): Promise<string[]> => {
    await fixture().post('asks', said);
    const { body } = await fixture().modelCall(said);
    await fixture().idle('http:asks');
    return (body.tools ?? []).map((tool) => tool.function.name);
  };

  it('is offered as soon as config.json names a service, taints what it finds, and is removed with the setting', async () => {
    expect(await toolsFor('before')).not.toContain('web_search');
    const search = { kind: 'searxng', baseUrl: searxng.root };
    await edit({ search });
    await vi.waitFor(async () => expect((await settings()).values.search).toEqual(search), WAIT);
    expect(await toolsFor('in between')).toContain('web_search');

    searxng.results = [{ title: 'Tides', url: 'https://tides.example/', description: 'High at six.' }];
    const toolCalls = [{ name: 'web_search', args: { query: 'tides today' } }];
    fixture().ollama.answer({ toolCalls }, { when: 'when is high water' });
    await fixture().post('finds', 'when is high water');
    await fixture().idle('http:finds');
    expect(searxng.queries).toEqual(['tides today']);
    const { body } = await fixture().modelCall('when is high water');
    expect(JSON.stringify(body.messages)).toContain('High at six.');
    const session = await fixture().store.ledger.session('http:finds');
    expect(session?.sources).toEqual(['web']);

    await edit({ search: { kind: 'tavily' } });
    await vi.waitFor(
      async () =>
        expect((await settings()).errors.join()).toMatch(
          /:1:\d+: search\.kind: the environment variable TAVILY_API_KEY is not set/,
        ),
      WAIT,
    );
    expect(await toolsFor('with an error')).toContain('web_search');
    await edit({});
    await vi.waitFor(async () => expect((await settings()).values.search).toBeUndefined(), WAIT);
    expect(await toolsFor('after')).not.toContain('web_search');
  });
});

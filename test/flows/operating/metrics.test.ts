/** What Prometheus reads from a whole gateway, and that the dashboard and the alert rules name nothing else. */
import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
import { MESSAGE_RATE } from '../../../src/intake/limits.ts';
import { describeGateway, FRIENDS, WAIT } from '../setup.ts';

describeGateway('the metrics', { telegram: true }, (fixture) => {
  const metrics = async (): Promise<string> => await (await fixture().call('/metrics')).text();

  it('count turns, waits, first tokens, model calls, tools, deliveries, requests and refusals, each by outcome', async () => {
    const [chat = ''] = FRIENDS;
    fixture().ollama.answer(
      { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: `look ${chat}` },
    );
    fixture().telegram.says(chat, `look ${chat}`, chat);
    fixture().telegram.says('9300', 'a stranger', '9300');
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toHaveLength(1), WAIT);
    await fixture().idle(`telegram:${chat}`);
    await fixture().call('/v1/sessions');
    await fixture().call('/v1/sessions/http:none');
    await vi.waitFor(async () => {
      const text = await metrics();
      for (const line of [
        /parley_turn_seconds_count\{outcome="completed"\} 1/,
        /parley_queue_wait_seconds_count 1/,
        /parley_first_token_seconds_count\{model="fake:latest"\} 2/,
        /parley_model_call_seconds_count\{model="fake:latest",outcome="ok"\} 2/,
        /parley_tool_seconds_count\{tool="list_dir",outcome="ok"\} 1/,
        /parley_delivery_seconds_count\{outcome="finished"\} [12]/,
        /parley_http_request_seconds_count\{method="GET",route="\/v1\/sessions",status="200"\} 1/,
        /parley_http_request_seconds_count\{method="GET",route="\/v1\/sessions\/:key",status="404"\} 1/,
        /parley_messages_refused_total\{channel="telegram",code="pairing"\} 1/,
        /parley_platform_calls_total\{channel="telegram"\} [1-9]/,
        /parley_platform_refused_total\{channel="telegram"\} 0/,
        /nodejs_heap_size_used_bytes \d+/,
        /parley_build_info\{version="\d+\.\d+\.\d+",node="v24\.\S+"\} 1/,
      ])
        expect(text).toMatch(line);
    }, WAIT);
  });

  it('count subagents, and their tools like those of turns', async () => {
    const spawn = { name: 'spawn_agent', args: { task: 'count the files' } };
    fixture().ollama.answer({ toolCalls: [spawn] }, { when: 'ask somebody' });
    fixture().ollama.answer(
      { toolCalls: [{ name: 'list_dir', args: { path: '.' } }] },
      { when: 'count the files' },
    );
    const lists = async (): Promise<number> =>
      Number(
        /parley_tool_seconds_count\{tool="list_dir",outcome="ok"\} (\d+)/.exec(await metrics())?.[1] ?? 0,
      );
    const before = await lists();
    await fixture().post('asked', 'ask somebody');
    await fixture().idle('http:asked');
    await vi.waitFor(async () => {
      expect(await metrics()).toMatch(/parley_subagent_seconds_count\{outcome="completed"\} 1\n/);
      expect(await lists()).toBe(before + 1);
    }, WAIT);
  });

  it('count what a platform refuses as too fast, and what we refuse a sender, under its channel', async () => {
    const [, chat = ''] = FRIENDS;
    fixture().telegram.rateLimit(1);
    fixture().telegram.says(chat, 'too fast?', chat);
    await vi.waitFor(() => expect(fixture().telegram.screen(chat)).toHaveLength(1), WAIT);
    for (let nth = 0; nth < MESSAGE_RATE.messagesAtOnce + 2; nth += 1)
      fixture().telegram.says(chat, `again ${nth}`, chat);
    await vi.waitFor(async () => {
      const text = await metrics();
      expect(text).toMatch(/parley_platform_refused_total\{channel="telegram"\} 1\n/);
      expect(text).toMatch(/parley_messages_refused_total\{channel="telegram",code="rate_limited"\} [1-9]/);
    }, WAIT);
  });

  it('are all that the dashboard and the alert rules name', async () => {
    const known = new Set([...(await metrics()).matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name));
    for (const file of ['grafana.json', 'alerts.yml']) {
      const text = readFileSync(new URL(`../../../docs/monitoring/${file}`, import.meta.url), 'utf8');
      const named = [...text.matchAll(/\b(?:parley|process|nodejs)_[a-z0-9_]+/g)].map(([name]) =>
        known.has(name) ? name : name.replace(/_(bucket|sum|count)$/, ''),
      );
      expect(named.length).toBeGreaterThan(5);
      expect([file, ...named.filter((name) => !known.has(name))]).toEqual([file]);
    }
  });

  it('have the labels that the dashboard and the alert rules group them by', async () => {
    const labels = new Map<string, Set<string>>();
    for (const [, name = '', pairs = ''] of (await metrics()).matchAll(/^(\w+)\{(.*)\} /gm)) {
      const own = labels.get(name) ?? new Set();
      for (const [, label = ''] of pairs.matchAll(/(\w+)="/g)) own.add(label);
      labels.set(name, own);
    }
    const grouped = /\bby \(([^)]*)\)\s*\((?:\w+\()*(\w+?)(?:\{[^}]*\})?\[/g;
    const seen: string[] = [];
    for (const file of ['grafana.json', 'alerts.yml']) {
      const text = readFileSync(new URL(`../../../docs/monitoring/${file}`, import.meta.url), 'utf8');
      for (const [all, by = '', name = ''] of text.matchAll(grouped)) {
        const own = labels.get(name);
        if (own === undefined) continue;
        seen.push(name);
        const missing = by.split(/,\s*/).filter((label) => !own.has(label));
        expect({ file, all, missing }).toEqual({ file, all, missing: [] });
      }
    }
    expect(seen).toContain('parley_platform_refused_total');
    expect(seen).toContain('parley_messages_refused_total');
  });
});

/** What Prometheus reads from a whole gateway, and that the dashboard and the alert rules name nothing else. */
import { readFileSync } from 'node:fs';
import { expect, it, vi } from 'vitest';
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
        /parley_messages_refused_total\{code="pairing"\} 1/,
        /nodejs_heap_size_used_bytes \d+/,
        /parley_build_info\{version="\d+\.\d+\.\d+",node="v24\.\S+"\} 1/,
      ])
        expect(text).toMatch(line);
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
});

/** The log as its operator reads it: the file in the home, and `parley logs` next to a running gateway and after it. */
import { readFile, rm, stat } from 'node:fs/promises';
import path from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { MAX_LINES } from '../../../src/ops/logs-command.ts';
import { chat, parley, startGatewayProcess, startParley } from '../../child.ts';
import { makeEmbeddedHome } from '../../database.ts';
import { startFakeOllama } from '../../fakes/ollama/ollama.ts';

const TOKEN = 'a-token-of-thirty-two-or-more-0123456789';

describe('parley logs', () => {
  let home = '';
  beforeEach(async () => {
    home = await makeEmbeddedHome();
  });
  afterEach(() => rm(home, { recursive: true, force: true }));

  it('shows a turn by its id while the gateway runs, follows new lines, and reads the file afterwards', async () => {
    const model = await startFakeOllama({ fallback: { text: 'Good morning.' } });
    try {
      const settings = { GATEWAY_HOME: home, GATEWAY_TOKEN: TOKEN, OLLAMA_HOST: model.url };
      const gateway = await startGatewayProcess({ ...settings, LOG_LEVEL: 'debug' });
      const following = startParley(['logs', '-f', '--json'], settings);
      const asked = await chat(gateway.url, TOKEN, { content: 'Hello' });
      expect(asked.text).toContain('Good morning.');
      await expect.poll(() => following.stdout(), { timeout: 20_000 }).toContain('"turn_ended"');
      following.signal('SIGINT');
      expect(await following.ended).toBe(0);
      const turnId = /"turnId":"([^"]+)"/.exec(following.stdout())?.[1] ?? '';

      const { stdout, code } = await parley(['logs', '--turn', turnId], settings);
      expect(code).toBe(0);
      const lines = stdout.trim().split('\n');
      expect(lines.length).toBeGreaterThan(2);
      for (const line of lines) expect(line).toContain(`turnId=${turnId}`);
      expect(stdout).toMatch(/^\d\d:\d\d:\d\d INFO {2}turn_ended .*reason=completed/m);

      gateway.signal('SIGTERM');
      expect(await gateway.ended).toBe(0);
      const file = path.join(home, 'logs', 'parley.log');
      expect((await stat(file)).mode & 0o777).toBe(0o600);
      expect(await readFile(file, 'utf8')).toBe(
        gateway
          .stdout()
          .split(/(?<=\n)/)
          .filter((line) => line.startsWith('{'))
          .join(''),
      );
      const errors = await parley(['logs', '--level', 'fatal'], settings);
      expect(errors).toMatchObject({ code: 0, stdout: '' });
      expect((await parley(['logs', '--lines', '1'], settings)).stdout.trim().split('\n')).toHaveLength(1);
    } finally {
      await model.close();
    }
  }, 60_000);

  it('reports in one sentence that there is no log yet, and what it expects', async () => {
    const none = await parley(['logs'], { GATEWAY_HOME: home });
    expect(none).toMatchObject({ code: 1, stderr: expect.stringContaining('logs/parley.log yet') });
    for (const wrong of [
      ['--level', 'loud'],
      ['--lines', '0'],
      ['--lines', String(MAX_LINES + 1)],
    ]) {
      const end = await parley(['logs', ...wrong], { GATEWAY_HOME: home });
      expect(end).toMatchObject({ code: 1, stderr: expect.stringMatching(/^Expected: logs /) });
    }
    const odd = await parley(['logs', '--what'], { GATEWAY_HOME: home });
    expect(odd).toMatchObject({ code: 1, stderr: expect.stringContaining('logs has no option --what') });
  }, 30_000);
});

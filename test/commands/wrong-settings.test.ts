/** A `config.json` that cannot be used, as people write it, and settings that are asked for by a wrong name. */
import { chmodSync } from 'node:fs';
import path from 'node:path';
import { describe, expect, it } from 'vitest';
import { parley } from '../child.ts';
import { diagnosis, homeWith, outputOf } from './wrong-setup.ts';

describe('config.json', () => {
  it.each([
    [
      'with a misspelt field',
      '{"limits":{"messagePerMinute":3}}',
      /config\.json:1:12: limits\.messagePerMinute: there is no such field; did you mean messagesPerMinute\?/,
    ],
    [
      'with a section that is named almost right',
      '{"schedule":{}}',
      /schedule: there is no such field; did you mean schedules\?/,
    ],
    [
      'with a word for a number',
      '{"limits":{"messagesPerMinute":"many"}}',
      /limits\.messagesPerMinute: must be a number/,
    ],
    ['that is cut off', '{"limits":', /config\.json:1:11: a closing \} is missing|a value is expected here/],
    [
      'with a time zone that does not exist',
      '{"schedules":{"timeZone":"Europe/Berln"}}',
      /schedules\.timeZone: must be a time zone such as Europe\/Berlin/,
    ],
    [
      'with a field at another place',
      '{"timeZone":"Europe/Berlin"}',
      /:1:2: timeZone: there is no such field; did you mean schedules\.timeZone\?/,
    ],
    ['with a field that several places have', '{"dm":"open"}', /:1:2: dm: there is no such field\n/],
    ['with a list for an object', '[]', /config\.json/],
  ])('%s is refused with its place', async (_, config, sentence) => {
    expect(await diagnosis({ GATEWAY_HOME: homeWith(config) })).toMatch(sentence);
  });

  it('that lacks two brackets has one error', async () => {
    const output = await diagnosis({ GATEWAY_HOME: homeWith('{"limits":{"messagesPerMinute":3') });
    expect(output.match(/a closing } is missing/g)).toHaveLength(1);
  });

  it('that others can read is refused with the command that mends it', async () => {
    const home = homeWith('{}');
    chmodSync(home, 0o755);
    chmodSync(path.join(home, 'config.json'), 0o644);
    const output = await diagnosis({ GATEWAY_HOME: home });
    expect(output).toMatch(/can be read by other users of this machine\.\s+→ chmod 600 .*config\.json/);
  });
});

describe('parley config', () => {
  it('asks whether another setting was meant', async () => {
    expect(
      await outputOf(['config', 'get', 'limits.messagePerMinute'], { GATEWAY_HOME: homeWith() }),
    ).toMatch(
      /limits\.messagePerMinute is not set, or there is no such field; did you mean messagesPerMinute\?/,
    );
  });

  it('tells of variables without effect when it validates', async () => {
    const environment = { GATEWAY_HOME: homeWith('{}'), TELEGRAM_TOKEN: '123456789:abc' };
    const { stdout, code } = await parley(['config', 'validate'], environment);
    expect(stdout).toMatch(/config\.json is valid\. But:\n  - TELEGRAM_TOKEN is not read: Telegram reads/);
    expect(code).toBe(0);
  });
});

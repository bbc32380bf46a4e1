/** `config.json` for a form: potential secrets are never shown. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import { SET_SECRET } from '../../src/protocol/operator/administration.ts';
import { editableConfig } from '../../src/live-config.ts';
import { readConfigForm } from '../../src/settings/config-form.ts';

it('hides MCP server headers and environment values, and passwords in addresses, but not variable names', async () => {
  const home = await mkdtemp(path.join(tmpdir(), 'parley-form-'));
  onTestFinished(() => rm(home, { recursive: true, force: true }));
  const headers = { authorization: 'Bearer a-literal-secret', 'x-key': '${NOTES_KEY}' };
  const servers = { notes: { url: 'http://127.0.0.1:9/mcp', headers } };
  const providers = { far: { kind: 'openai', baseUrl: 'http://me:a-password@127.0.0.1:9/v1' } };
  await writeFile(path.join(home, 'config.json'), JSON.stringify({ mcp: { servers }, providers }), {
    mode: 0o600,
  });
  const form = readConfigForm(editableConfig({ GATEWAY_HOME: home }));
  expect(JSON.stringify(form)).not.toMatch(/a-literal-secret|a-password/);
  expect(form.written).toMatchObject({
    mcp: { servers: { notes: { headers: { authorization: SET_SECRET, 'x-key': '${NOTES_KEY}' } } } },
    providers: { far: { kind: 'openai', baseUrl: SET_SECRET } },
  });
});
